"""The manual pages, without which nothing can be installed, are made from what the programs say of themselves."""

import pathlib
import shutil
import subprocess

import site_of_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_manual_pages(site):
    for program in ("banditctl", "banditd"):
        path = pathlib.Path(site_of_tests.BANDITCTL).with_name(program)
        page = subprocess.run(
            [ROOT / "docs" / "make-manual", path], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        assert page.startswith(f".TH {program.upper()} 1 "), page[:100]
        assert page.isascii() and ".SH SYNOPSIS" in page
        for option in {"banditctl": ["url", "infeasible\\-status"], "banditd": ["listen", "study\\-memory"]}[program]:
            assert f"\\-\\-{option}" in page, option
        if shutil.which("groff"):
            checked = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-z"],
                input=page,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            )
            assert checked.stderr == "", checked.stderr
