"""A server for each test: BANDITD names the program."""

import os
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "integration"), str(TESTS), str(TESTS.parent / "clients" / "python" / "src")]
import server as servers  # noqa: E402

servers.BINARY = os.environ["BANDITD"]


@pytest.fixture
def server():
    with servers.Server() as running:
        yield running


@pytest.fixture
def url(server):
    return f"http://127.0.0.1:{server.port}"
