"""These tests need machines."""

import pytest

from tests.support.code import skip_without_machines


@pytest.fixture(autouse=True)
def machines() -> None:
    """Skip where bubblewrap does not work."""
    skip_without_machines()
