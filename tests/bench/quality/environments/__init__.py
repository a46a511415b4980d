"""Each rival has an environment under build/quality/envs, made when it is first used from the pinned list NAME.txt
in this folder. The lists are complete, so that pip resolves nothing. PyTorch is installed once for all that want it: its
wheel on PyPI loads NVIDIA's libraries even where there is no such device, which takes 4 GB of disk."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WITH_TORCH = ("optuna", "botorch", "hebo")


def lists(name):
    return [HERE / f"{each}.txt" for each in ([name, "torch"] if name in WITH_TORCH else [name])]


def python_of(name, folder):
    """The interpreter of an environment under that folder, which is made if it is not there or of another list."""
    place = folder / name
    python, stamp = place / "bin" / "python", place / "installed.txt"
    wanted = "".join(path.read_text() for path in lists(name))
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"making the environment {name}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
    install(python, name)
    if name in WITH_TORCH:
        site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
                              check=True, capture_output=True, text=True).stdout.strip()  # fmt: skip
        pathlib.Path(site, "torch.pth").write_text(f"{torch(python, folder)}\n")
    stamp.write_text(wanted)
    return python


def install(python, name, *more):
    pip = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, *more, "-r", HERE / f"{name}.txt"], check=True, env={**os.environ, "PIP_NO_WARN_CONFLICTS": "1"})


def torch(python, folder):
    place, wanted = folder / "torch", (HERE / "torch.txt").read_text()
    stamp = place / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        install(python, "torch", "--upgrade", "--target", place)
        stamp.write_text(wanted)
    return place
