"""The documentation, built once for all workers."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.site import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built pages; the first worker builds them."""
    pytest.importorskip(
        "furo", reason="the documentation's packages are not installed: make docs installs them"
    )
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "index.html").exists():
            command = [
                sys.executable,
                "-m",
                "sphinx",
                "-j",
                "auto",
                "-b",
                "html",
                "--quiet",
                str(ROOT / "docs"),
                str(folder),
            ]
            subprocess.run(command, check=True, capture_output=True)
    return folder
