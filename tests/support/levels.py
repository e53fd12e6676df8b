"""Which tests belong to which level: `make test` runs `test`, `make test-wide` runs `wide`,
together they are `all`.

A test is wide if it says so (`@pytest.mark.wide`, or `wide("postgres")` if only that twin is), or
if it repeats on PostgreSQL what no replicas race for. `make test-system` leaves what repeats a
proof at a high price (marked `nightly`) to `make test-nightly`, and two thirds of each large
product (marked `rotating`); other seeds choose other thirds. A run that names files or folders runs
all their tests, unless it names a level.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.chance import third

LEVELS = ("test", "wide", "all", "system", "nightly")

SYSTEM = ["tests/system"]
"""The paths of a run of the level `system`; one that names some of its folders runs all of their
tests.
"""

RACING = (
    "access/",
    "jobs/",
    "search/",
    "sharing/",
    "storage/",
    "server/test_background.py",
    "server/test_budgets.py",
    "server/test_idempotency.py",
    "server/test_limits.py",
    "server/test_tenants.py",
)
"""Below tests/integration: where replicas race for what is stored, so that `make test` needs both
databases.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--level",
        choices=LEVELS,
        help="run the tests of one level: test, wide, all or nightly; default: test",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Decide the level, once: workers get paths and options from here, and cannot tell who named
    them.
    """
    config.addinivalue_line(
        "markers",
        "wide(store): needs more than 0.2 CPU s, or does on that store; `make test-wide` runs it",
    )
    config.addinivalue_line(
        "markers", "nightly: repeats a proof at a high price; `make test-nightly` runs it"
    )
    config.addinivalue_line(
        "markers",
        "rotating: `make test-system` runs a third of a file's rotating tests, "
        "`make test-nightly` all",
    )
    if config.option.level is None:
        config.option.level = _intended(config)


def _intended(config: pytest.Config) -> str:
    """The level that the paths of a run mean."""
    if not _names_paths(config):
        return "test"
    return "system" if _paths(config) == SYSTEM else "all"


def _paths(config: pytest.Config) -> list[str]:
    return [path.rstrip("/") for path in config.args]


def _names_paths(config: pytest.Config) -> bool:
    return config.args_source == pytest.Config.ArgsSource.ARGS


def runs_all_of(config: pytest.Config, level: str) -> bool:
    """Whether a run leaves out no test of its level, so that its cost can be compared with a
    budget.
    """
    option = config.option
    choices = (
        "keyword",
        "markexpr",
        "deselect",
        "ignore",
        "ignore_glob",
        "lf",
        "last_failed",
        "maxfail",
    )
    if any(getattr(option, name, None) for name in choices):
        return False
    if level == "system":
        return _paths(config) == SYSTEM
    return not _names_paths(config)


_WIDE_WORDS = ("wide", "store_url", "stateful")
"""A file in which none of them occurs has no wide test: the marker, and the fixtures that are there
on both stores.
"""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only the files that can have wide tests when only those run."""
    if config.option.level != "wide" or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text()
    return None if any(word in text for word in _WIDE_WORDS) else True


def is_wide(item: pytest.Item) -> bool:
    """Whether `make test` leaves a test out.

    A marker may name the one store on which the test is that dear.
    """
    store = getattr(getattr(item, "callspec", None), "params", {}).get("store_url")
    marked = any(not marker.args or store in marker.args for marker in item.iter_markers("wide"))
    return marked or (store == "postgres" and not item.nodeid.startswith(_RACING))


def of_system(items: Sequence[pytest.Item], level: str) -> list[pytest.Item]:
    """Return the tests of `tests/system` that belong to `system` or to `nightly`."""
    nightly = {item for item in items if item.get_closest_marker("nightly")}
    rotating: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item not in nightly and item.get_closest_marker("rotating"):
            rotating[item.path].append(item)
    every = {item for file in rotating.values() for item in file}
    if level == "nightly":
        return [item for item in items if item in nightly or item in every]
    chosen = {item for file in rotating.values() for item in third(file)}
    return [item for item in items if item not in nightly and (item not in every or item in chosen)]


_RACING = tuple(f"tests/integration/{place}" for place in RACING)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (level := config.option.level) == "all":
        return
    if level in {"test", "wide"}:
        stored = [item for item in items if is_wide(item) == (level == "wide")]
    else:
        stored = of_system(items, level)
    left = set(items) - set(stored)
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = stored
    _left_out[0] = len(left)


_left_out = [0]
"""How many tests of the other level this process has found; every worker finds the same ones."""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if output := getattr(session.config, "workeroutput", None):
        output["left_out"] = _left_out[0]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _left_out[0] = getattr(node, "workeroutput", {}).get("left_out", _left_out[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what `make test` and `make test-system` leave out."""
    other = {"test": "make test-wide", "system": "make test-nightly"}.get(
        terminalreporter.config.option.level
    )
    if other and _left_out[0]:
        terminalreporter.write_line(f"{_left_out[0]:,} tests are left to `{other}`.")
