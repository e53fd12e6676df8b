"""The console's component tests and the size of its bundle, with Node.js where it is installed."""

import pytest

from tests.support.console.bundle import BUILDER, perform


@pytest.mark.timeout(400)
def test_the_component_tests_pass() -> None:
    perform("test")


@pytest.mark.timeout(400)
def test_the_bundle_is_within_its_budgets() -> None:
    perform("build")
    whole, first = BUILDER["sizes"](BUILDER["BUNDLE"])
    assert 0 < first < whole <= BUILDER["MOST_BYTES"]
    assert first <= BUILDER["MOST_BYTES_OF_FIRST_PAGE"]
