"""What `make` prints where a variable changes nothing."""

import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def run(folder: Path, *arguments: str) -> str:
    """Run `make` in a folder; return what it prints."""
    command = ["make", "-f", str(MAKEFILE), "-n", "clean", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, timeout=30
    ).stdout


def test_an_interpreter_for_an_environment_that_exists_is_reported_as_unused(
    tmp_path: Path,
) -> None:
    assert "keeps its Python" not in run(tmp_path, "PYTHON=python3.12")

    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").touch()

    assert ".venv exists and keeps its Python. PYTHON=python3.12 is for" in run(
        tmp_path, "PYTHON=python3.12"
    )
    assert "keeps its Python" not in run(tmp_path)


def created(folder: Path, target: str, *codes: int) -> tuple[int, list[str]]:
    """Make a level in a folder where Python ends with these codes; return the code of `make`, and
    each command line.
    """
    for name in (
        "pyproject.toml",
        "verify/pyproject.toml",
        "src/antiphon/version.py",
        "constraints.txt",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / "codes").write_text("".join(f"{code}\n" for code in codes))
    python = folder / ".venv/bin/python"
    python.write_text(
        '#!/bin/sh\necho "$@" >>runs\ncode=$(head -n1 codes)\nsed -i 1d codes\nexit $code\n'
    )
    python.chmod(0o700)
    for stamp in (".installed-test", ".installed-docs"):
        (folder / ".venv" / stamp).touch()
    command = ["make", "-f", str(MAKEFILE), target]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=30)
    return done.returncode, (folder / "runs").read_text().splitlines()


@pytest.mark.parametrize(
    ("codes", "ends_with", "times"),
    [((0,), 0, 1), ((9, 0), 0, 2), ((9, 9), 2, 2), ((9, 1), 2, 2), ((1,), 2, 1)],
    ids=["cheap", "too dear once", "too dear twice", "red when repeated", "red"],
)
def test_only_a_level_that_cost_too_much_runs_once_more(
    tmp_path: Path, codes: tuple[int, ...], ends_with: int, times: int
) -> None:
    code, runs = created(tmp_path, "test-wide", *codes)

    assert (code, len(runs)) == (ends_with, times)
    assert all("--level wide" in run for run in runs)
