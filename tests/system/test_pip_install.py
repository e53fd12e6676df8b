"""What `make` shows while it installs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/pip-install"
STATED = """
import sys
print("Collecting aiohttp<4")
print("  Downloading aiohttp-3.whl (1.7 MB)")
print("Requirement already satisfied: idna")
print("Installing collected packages: aiohttp")
print(*sys.argv[1:])
sys.exit(CODE)
"""


def install(folder: Path, code: int) -> "subprocess.CompletedProcess[str]":
    """Run the script, where there is no uv, with a pip that ends with this code."""
    (folder / "pip.py").write_text(STATED.replace("CODE", str(code)))
    (folder / "scripts").mkdir(exist_ok=True)
    script = shutil.copy(SCRIPT, folder / "scripts")
    command = [sys.executable, script, "--editable", "."]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_each_step_of_an_installation_is_displayed(tmp_path: Path) -> None:
    done = install(tmp_path, 0)

    *steps, last = [line.strip() for line in done.stdout.splitlines()]
    assert steps == [
        "Collecting aiohttp<4",
        "Downloading aiohttp-3.whl (1.7 MB)",
        "Installing collected packages: aiohttp",
    ]
    assert last.startswith("Installed in ")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("code", [1, 2])
def test_a_failed_installation_displays_the_whole_output_of_pip(tmp_path: Path, code: int) -> None:
    done = install(tmp_path, code)

    assert done.returncode == code
    assert "Requirement already satisfied: idna" in done.stderr
    assert "install --progress-bar off --editable ." in done.stderr


@pytest.mark.parametrize(("code", "last"), [(0, "uv: installed in"), (1, "Installed in")])
def test_uv_installs_where_it_is_and_pip_what_it_cannot(
    tmp_path: Path, code: int, last: str
) -> None:
    uv = tmp_path / ".venv-resolve/bin/uv"
    uv.parent.mkdir(parents=True)
    uv.write_text(f"#!/bin/sh\necho $*\nexit {code}\n")
    uv.chmod(0o755)

    done = install(tmp_path, 0)

    assert (
        f"pip install --quiet --no-progress --python {sys.executable} --editable ." in done.stdout
    )
    assert done.stdout.splitlines()[-1].strip().startswith(last)
    assert done.returncode == 0
