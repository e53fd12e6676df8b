"""A plugin of pytest that keeps what `versions.choice` chooses: `-p versions.selecting --packages
aiohttp,mcp`.
"""

import pytest

from versions.choice import chosen


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names packages; without it the representative set runs."""
    parser.addoption("--packages", help="run the tests of these packages, separated by commas")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop the other tests."""
    packages = config.getoption("--packages")
    wide = {item.nodeid for item in items if item.get_closest_marker("wide")}
    stored = {
        *chosen(
            (item.nodeid for item in items), None if packages is None else packages.split(","), wide
        )
    }
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in stored])
    items[:] = [item for item in items if item.nodeid in stored]
