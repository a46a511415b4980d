"""The first study of README.md, pasted line by line: the commands work and answer what the page shows."""

import json
import math
import pathlib
import re
import shutil
import subprocess
import tempfile

from server import Server
from support import Skip

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
ADDRESS = "127.0.0.1:8080"  # as the page has it
HTTP_FAILED = 22  # curl's exit status for it
UNEQUAL = ("_at", "_seconds")  # members that differ from run to run


def steps(title):
    """[(command, the output shown, or None)]: each ```sh block, and the ```json or ```text block after it."""
    section = README.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    found = []
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
        if language == "sh":
            found.append([text, None])
        else:
            assert found and found[-1][1] is None, f"output without a command: {text}"
            found[-1][1] = text
    return found


def same(shown, answered, where=""):
    """Compares what the page shows with an answer: times by their form, reals to nine digits."""
    if isinstance(shown, dict):
        assert isinstance(answered, dict) and list(shown) == list(answered), (where, shown, answered)
        for name, value in shown.items():
            if not name.endswith(UNEQUAL):
                same(value, answered[name], f"{where}/{name}")
            else:
                assert type(value) is type(answered[name]), (where, name, value, answered[name])
    elif isinstance(shown, list):
        assert isinstance(answered, list) and len(shown) == len(answered), (where, shown, answered)
        for i, (a, b) in enumerate(zip(shown, answered)):
            same(a, b, f"{where}/{i}")
    elif isinstance(shown, float):
        assert math.isclose(shown, answered, rel_tol=1e-9, abs_tol=1e-12), (where, shown, answered)
    else:
        assert shown == answered, (where, shown, answered)


def test_the_first_study_works_as_pasted():
    paste(steps("A first study"), 12)


def test_the_space_works_as_pasted():
    paste(steps("Named parameters"), 3)


def paste(commands, fewest):
    if not shutil.which("curl"):
        raise Skip("needs curl (make deps installs it)")
    assert len(commands) >= fewest, commands
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        address = f"{server.host}:{server.port}"
        for command, shown in commands:
            assert ADDRESS in command or "curl" not in command, command
            command = command.replace(ADDRESS, address)
            # A refusal fails, except where the page shows one.
            command = re.sub(r"\bcurl\b", "curl --fail-with-body", command)
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", command], cwd=folder, capture_output=True, text=True, check=False
            )
            refused = shown is not None and "status" in json.loads(shown)
            assert done.returncode == (HTTP_FAILED if refused else 0), (command, done.stdout, done.stderr)
            if shown is None:
                assert done.stdout == "", (command, done.stdout)
            else:
                same(json.loads(shown), json.loads(done.stdout))
