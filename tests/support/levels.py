"""Which tests belong to which level: `make test` runs `test`, `make test-wide` runs `wide`, together they are `all`.

A test is wide if it says so (`@pytest.mark.wide`), or if it repeats on PostgreSQL what no replicas race for. A run that
names files or folders runs all of their tests, unless it names a level.
"""

from collections.abc import Iterable

import pytest

LEVELS = ("test", "wide", "all", "system")

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
"""Below tests/integration: where replicas race for what is stored, so that `make test` needs both databases."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--level", choices=LEVELS, help="run the tests of one level: test, wide or all; default: test")


def level_of(config: pytest.Config) -> str:
    """The level that a run asks for, or that its paths mean."""
    if config.option.level:
        return str(config.option.level)
    if config.args_source != pytest.Config.ArgsSource.ARGS:
        return "test"
    return "system" if all(path.startswith("tests/system") for path in config.args) else "all"


def starts_all_of(config: pytest.Config, level: str) -> bool:
    """Whether a run leaves out no test of its level, so that its cost can be compared with a budget."""
    option = config.option
    choices = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "last_failed", "maxfail")
    if any(getattr(option, name, None) for name in choices):
        return False
    if level == "system":
        return [path.rstrip("/") for path in config.args] == ["tests/system"]
    return config.args_source != pytest.Config.ArgsSource.ARGS


def is_twin(item: pytest.Item) -> bool:
    """Whether a test repeats on PostgreSQL what another does on SQLite, and no replicas race there."""
    choices = getattr(item, "callspec", None)
    if choices is None or choices.params.get("store_url") != "postgres":
        return False
    return not item.nodeid.startswith(tuple(f"tests/integration/{place}" for place in RACING))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if is_twin(item):
            item.add_marker("wide")
    level = level_of(config)
    if level in {"test", "wide"}:
        others = [item for item in items if (item.get_closest_marker("wide") is not None) != (level == "wide")]
        _leave_out(config, items, others)


def _leave_out(config: pytest.Config, items: list[pytest.Item], others: Iterable[pytest.Item]) -> None:
    left = {*others}
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=[*left])
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = len(left)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "wide: costs more than 0.2 CPU seconds; `make test-wide` runs it")
