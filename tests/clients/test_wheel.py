"""The Python package, built as a wheel and installed nowhere."""

import json
import pathlib
import subprocess
import zipfile

from site_of_tests import python_environment

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"


def test_the_wheel(site):
    python = python_environment() / "python"
    copy = site.folder / "python"
    subprocess.run(["cp", "-r", PACKAGE, copy], check=True)
    build = [
        python,
        "-m",
        "pip",
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "-w",
        site.folder,
        copy,
    ]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    (wheel,) = site.folder.glob("banditd-*-py3-none-any.whl")
    assert "banditd/py.typed" in zipfile.ZipFile(wheel).namelist()
    code = "import banditd, json; print(json.dumps([banditd.__file__, [s['id'] for s in banditd.Client().studies()]]))"
    said = subprocess.run(
        [python, "-c", code],
        capture_output=True,
        check=True,
        timeout=60,
        env=site.environment(PYTHONPATH=str(wheel)),
    ).stdout
    assert json.loads(said) == [f"{wheel}/banditd/__init__.py", []], said
