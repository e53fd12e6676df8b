"""Which tests run with other versions: those that a trace chose for each package, and a sample of
all files.
"""

import hashlib
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from versions.uv import ROOT

TABLE = Path(__file__).with_name("tests.toml")
"""Package -> tests that together call nearly every function of it that any test calls; recorded."""

UNSEEN = ("fastapi", "openpyxl", "python-docx", "python-pptx", "reportlab", "uvloop", "xlsxwriter")
"""Packages without tests in the table: the trace cannot see one that an example uses, and one that
calls Python itself; the others only write files for tests.
"""

MOST_ITEMS = 1_500
CASES = 2
"""Cases of a test of the table that run."""

SAMPLED = 16
"""One file of so many is in the sample."""

ITEMS_OF_A_FILE = 8

ALWAYS = (
    "tests/integration/cli/test_commands.py",
    "tests/integration/server/websocket/test_connection.py",
    "tests/system/cli/test_launch.py::test_a_server_is_started_for_the_client_and_ends_with_it",
    "tests/system/clients/test_openai_sdk.py",
    "tests/system/test_examples.py::test_an_example_of_a_client_runs_against_the_server[sdk]",
)
"""Files and cases that run on every Python: the command, WebSocket, the ten lines of the README and
the SDK.
"""

OF_THE_TREE = re.compile(
    r"tests/unit/(?:conformance|docs|reference|support|test_(?:diagrams|docs|layers|plain_english|verify_package)\.py)|"
    r"tests/integration/reference"
)
"""Tests of files of the repository: no version of a package changes their result."""


def table() -> Mapping[str, Sequence[str]]:
    """Return the recorded table.

    A test is a file and a function: `tests/unit/test_x.py::test_y`.
    """
    return tomllib.loads(TABLE.read_text())


def tests_of(packages: Collection[str] | None) -> Sequence[str]:
    """Return the tests that the trace chose for these packages; None means all packages."""
    return sorted(
        {
            test
            for name, tests in table().items()
            if packages is None or name in packages
            for test in tests
        }
    )


def sample(root: Path = ROOT) -> Sequence[str]:
    """Return the files of the sample, always the same for one tree."""
    files = (
        str(path.relative_to(root))
        for level in ("unit", "integration")
        for path in _tests(root, level)
    )
    return sorted(
        file for file in files if not OF_THE_TREE.match(file) and _number(file) % SAMPLED == 0
    )


def _tests(root: Path, level: str) -> Iterator[Path]:
    return (root / "tests" / level).rglob("test_*.py")


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def files(packages: Collection[str] | None) -> Sequence[str]:
    """Return the files that pytest has to collect."""
    found = {test.partition("::")[0] for test in tests_of(packages)}
    if packages is None:
        found |= {*sample()} | {one.partition("::")[0] for one in ALWAYS}
    return sorted(found)


def chosen(
    ids: Iterable[str], packages: Collection[str] | None, wide: Collection[str] = ()
) -> list[str]:
    """Return which of the collected tests run, in their order.

    `wide` are those that are too dear for the sample.

    What only repeats a test on PostgreSQL runs for the driver of PostgreSQL alone.
    """
    listed = {*tests_of(packages)}
    all_of_asyncpg = {*tests_of(["asyncpg"])}
    sampled = {*sample()} if packages is None else set()
    always = ALWAYS if packages is None else ()
    cases: dict[str, int] = {}
    stored: list[str] = []
    for one in ids:
        test = one.partition("[")[0]
        file = one.partition("::")[0]
        if one in always or file in always:
            stored.append(one)
            continue
        if "postgres" in one and not (test in listed and test in all_of_asyncpg):
            continue
        key, most = (
            (test, CASES) if test in listed else (file, ITEMS_OF_A_FILE if file in sampled else 0)
        )
        if test not in listed and one in wide:
            continue
        cases[key] = cases.get(key, 0) + 1
        if cases[key] <= most:
            stored.append(one)
    return stored[:MOST_ITEMS]
