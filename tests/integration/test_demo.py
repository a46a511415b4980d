"""`make demo`, shortened: it finds its way, and leaves nothing behind."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

import server as servers
from harness import sanitizers

DEMO = pathlib.Path(__file__).resolve().parents[1] / "demo" / "demo.py"


def start(folder, trials):
    return subprocess.Popen(
        [sys.executable, DEMO, servers.BINARY, "--trials", str(trials)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**sanitizers.environment(), "TMPDIR": folder},
        start_new_session=True,
        # A script's background jobs, and what they start, ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def check_nothing_left(said, folder):
    port = int(re.search(r"ask http://127\.0\.0\.1:(\d+) ", said).group(1))
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the server is still there"
    assert os.listdir(folder) == [], os.listdir(folder)


def test_a_short_demo():
    with tempfile.TemporaryDirectory() as folder:
        demo = start(folder, 9)
        said, complaints = demo.communicate(timeout=120)
        assert demo.returncode == 0, (said, complaints)
        assert not sanitizers.report(complaints), complaints
        assert len(re.findall(r"^  trial +\d+  w[123]  .*(?:GFLOP/s|infeasible: )", said, re.MULTILINE)) == 9, said
        assert re.search(r"^  best found .* GFLOP/s, [\d.]+ times as fast$", said, re.MULTILINE), said
        check_nothing_left(said, folder)


def test_an_interrupted_demo():
    for sent, status in ((signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)):
        with tempfile.TemporaryDirectory() as folder:
            demo = start(folder, 1000)
            said = ""
            while "  trial " not in said:
                line = demo.stdout.readline()
                assert line, (said, demo.stderr.read())
                said += line
            demo.send_signal(sent)
            rest, complaints = demo.communicate(timeout=60)
            assert demo.returncode == status, (demo.returncode, said + rest, complaints)
            assert "Traceback" not in complaints, complaints
            check_nothing_left(said, folder)
