"""The example of CONTRIBUTING.md for a stored object: how many files it touches, and that it works.

The example is `labels.patch`. If it no longer applies, apply it with `git apply --3way`, correct
it, and write it again: `git add src docs tests`, `git diff --cached > labels.patch`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PATCH = Path(__file__).with_name("labels.patch")
TOUCHED = re.findall(r"^\+\+\+ b/(.+)$", PATCH.read_text("utf-8"), re.MULTILINE)

MOST = 7
"""Files of the package that a new stored object may touch."""

CHANGED = ("src", "tests", "docs")
"""The folders that are copied. What else is in the repository is only read."""

ROW_SECURITY = "tests/integration/storage/postgres/test_row_security.py"

TESTS = (
    "tests/integration/server/resources/test_labels.py",
    "tests/integration/store/test_labels.py",
    "tests/unit/storage/test_promises.py",
    "tests/integration/storage/sqlite/test_store.py::test_a_store_in_a_file_keeps_every_promise",
    "tests/integration/storage/postgres/test_store.py::test_it_keeps_every_promise",
    "tests/integration/reference/test_endpoints_page.py",
    f"{ROW_SECURITY}::test_every_table_has_its_wall_or_its_reason",
    f"{ROW_SECURITY}::test_a_statement_sees_one_tenants_rows_whatever_it_contains",
)
"""The tests of the object, of its promises and its table on both databases, and of its page."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, with the example."""
    copy = tmp_path_factory.mktemp("labels")
    for entry in ROOT.iterdir():
        if entry.name in CHANGED:
            shutil.copytree(entry, copy / entry.name, ignore=shutil.ignore_patterns("_build"))
        elif entry.name != ".git":
            (copy / entry.name).symlink_to(entry)
    run(copy, "git", "apply", "-C0", str(PATCH))
    number_last(copy / "src/antiphon/storage/sql/migrations")
    return copy


def number_last(migrations: Path) -> None:
    """Give the example's migration the number after the newest one."""
    (own,) = migrations.glob("*_labels.sql")
    newest = max(int(path.name[:4]) for path in migrations.glob("*.sql") if path != own)
    own.rename(own.with_name(f"{newest + 1:04}_labels.sql"))


def run(folder: Path, *command: str) -> None:
    """Run a command that succeeds in a copy of the repository, with the packages of the copy."""
    own = {"PYTHONPATH": os.pathsep.join(("src", "verify/src", "."))}
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | own | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{__doc__}"


def test_a_new_stored_object_touches_few_files_of_the_package() -> None:
    assert len([path for path in TOUCHED if path.startswith("src/")]) <= MOST


def test_contributing_names_every_file_that_it_touches() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| a stored object |"))
    section = text.partition("### A stored object\n")[2].partition("\n### ")[0]
    names = [path.removeprefix("src/antiphon/") for path in TOUCHED]

    assert "(#a-stored-object)" in row
    assert [name for name in names if f"`{name}`" not in section] == []


def test_the_example_works(tree: Path) -> None:
    python = [str(tree / path) for path in TOUCHED if path.endswith(".py")]
    run(tree, sys.executable, "-m", "ruff", "check", "--no-cache", *python)
    flags = ("-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-k", "not postgres or row_security")
    run(tree, sys.executable, "-m", "pytest", *flags, *TESTS)
