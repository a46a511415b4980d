"""The sampler for Optuna, by pytest in an environment of its own; and the package's types."""

import pathlib
import subprocess

import server as servers
from site_of_tests import python_environment

HERE = pathlib.Path(__file__).resolve().parent
OLDEST_OPTUNA = "4.1.0"  # as pyproject.toml says; requirements.txt has the newest
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


def test_the_sampler_with_the_oldest_optuna():
    _try_the_sampler(python_environment("clients-venv-oldest", optuna=OLDEST_OPTUNA) / "pytest")


def test_the_types():
    run(python_environment() / "mypy", "--strict", "--cache-dir", "/dev/null", SOURCE / "banditd")
