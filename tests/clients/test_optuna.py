"""The sampler for Optuna, by pytest in an environment of its own; and the package's types."""

import pathlib
import subprocess

import server as servers
from site_of_tests import python_environment

HERE = pathlib.Path(__file__).resolve().parent
OLDER_OPTUNAS = ["4.1.0", "4.4.0", "4.9.0"]  # the oldest as pyproject.toml says; requirements.txt has the newest
SOURCE = HERE.parents[1] / "clients" / "python" / "src"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, **options)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


def _try_the_sampler(pytest):
    said = run(pytest, "-q", "-p", "no:cacheprovider", HERE / "optuna", env={"BANDITD": servers.BINARY, "PATH": "/usr/bin:/bin"})
    assert " passed" in said, said


def test_the_sampler():
    _try_the_sampler(python_environment() / "pytest")


def test_the_sampler_with_older_optunas():
    for version in OLDER_OPTUNAS:
        _try_the_sampler(python_environment(f"clients-venv-optuna-{version}", optuna=version) / "pytest")


def test_the_types():
    run(python_environment() / "mypy", "--strict", "--cache-dir", "/dev/null", SOURCE / "banditd")
