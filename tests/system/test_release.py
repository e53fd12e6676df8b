"""`make release` of a version that does not fit the tree. tests/system/test_dist.py builds what
does.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("", "VERSION is missing: name one, as in `make release VERSION="),
        ("99.0.0", "CHANGELOG.md has no section '## 99.0.0 - YYYY-MM-DD'"),
    ],
)
def test_nothing_is_built_and_each_problem_is_named(version: str, problem: str) -> None:
    command = [sys.executable, "-m", "release", version]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Nothing was built:\n- ")
    assert problem in done.stderr
