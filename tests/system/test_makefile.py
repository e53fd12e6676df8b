"""What `make` prints where a variable changes nothing."""

import subprocess
from pathlib import Path

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def run(folder: Path, *arguments: str) -> str:
    """Run `make` in a folder; return what it prints."""
    command = ["make", "-f", str(MAKEFILE), "-n", "clean", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=30).stdout


def test_an_interpreter_for_an_environment_that_exists_is_reported_as_unused(tmp_path: Path) -> None:
    assert "keeps its Python" not in run(tmp_path, "PYTHON=python3.12")

    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").touch()

    assert ".venv exists and keeps its Python. PYTHON=python3.12 is for" in run(tmp_path, "PYTHON=python3.12")
    assert "keeps its Python" not in run(tmp_path)
