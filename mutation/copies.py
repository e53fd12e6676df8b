"""Copies of the repository in which mutants run, and the processes that run them."""

import compileall
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def copy(root: Path, folder: Path) -> None:
    """Copy every file that git knows, as it is in the work tree."""
    listed = subprocess.run(
        ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=root,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)
    # By its hash, bytecode fits its source even where a change leaves size and second as they were.
    checked = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(folder / "src", quiet=2, invalidation_mode=checked)


@contextmanager
def worker(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a worker in a copy; it uses the Python packages that are installed here, and the copy's own code."""
    temporary = folder / "t"
    temporary.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")}
    environment |= {"PYTHONPATH": f"{folder / 'src'}:{folder}", "TMPDIR": str(temporary)}
    command = (sys.executable, "-m", "mutation.worker")
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=-1, stdout=-1) as program:
        try:
            yield program
        finally:
            program.kill() if sys.exc_info()[0] else program.stdin.close()  # type: ignore[union-attr]
