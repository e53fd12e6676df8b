"""A server of root tests its machines as another user, too: those are in a user namespace."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
USER = 65534
CHOSEN = (
    "processes or namespaces or process or denied or ends_itself or network or written or "
    "keeps_the_contract"
)


@pytest.fixture
def folder() -> Iterator[str]:
    """A directory of that user's, where everyone can go."""
    path = tempfile.mkdtemp()
    os.chown(path, USER, USER)
    yield path
    shutil.rmtree(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an unprivileged user")
def test_attacks_fail_in_machines_of_an_unprivileged_user_as_well(folder: str) -> None:
    environment = {
        **os.environ,
        "HOME": folder,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": "",
    }
    become = ("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups")
    readable = subprocess.run(
        [*become, sys.executable, "-c", "import antiphon, tests"], cwd=ROOT, env=environment
    )
    if readable.returncode:
        pytest.skip("an unprivileged user cannot read this checkout")
    pytest_ = (
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        f"--basetemp={folder}/tests",
    )
    chosen = ("-k", CHOSEN, "tests/system/sandbox", "tests/integration/sandbox/test_bubblewrap.py")
    run = subprocess.run(
        [*become, *pytest_, *chosen], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if "passed" not in run.stdout and "skipped" in run.stdout:
        pytest.skip("bubblewrap works for root only")
    assert run.returncode == 0, run.stdout
