"""The privileges that a server needs."""

import pytest

from antiphon.storage.postgres.rights import needed


@pytest.mark.parametrize(
    ("right", "tables"),
    [
        ("SELECT", {"responses", "api_keys", "workers", "sums"}),
        ("INSERT", {"responses", "sums", "tenant_sizes"}),
        ("UPDATE", {"jobs", "sums", "tenant_sizes"}),
        ("DELETE", {"responses", "upload_parts"}),
    ],
)
def test_it_needs_them_for_its_statements_and_for_the_triggers(
    right: str, tables: set[str]
) -> None:
    """Only triggers write to `tenant_sizes` and delete from `upload_parts`."""
    assert tables <= needed()[right]


@pytest.mark.parametrize("right", ["INSERT", "UPDATE", "DELETE"])
def test_it_needs_none_for_what_the_command_line_alone_changes(right: str) -> None:
    assert "tenant_budgets" not in needed()[right]
