"""Which catalogs of models Codex accepts."""

from typing import Any

import pytest

from antiphon.server.codex_catalog import catalog
from antiphon_verify.areas.responses.models import CODEX_FIELDS, is_codex_entry
from antiphon_verify.replies.responses.models import CODEX_ENTRY


def test_an_entry_with_what_codex_requires_is_accepted() -> None:
    assert is_codex_entry(CODEX_ENTRY)


@pytest.mark.parametrize(
    "entry",
    catalog([("sized", 4096, None), ("unsized", None, None)]),
    ids=lambda entry: entry["slug"],
)
def test_antiphons_own_entries_are_accepted(entry: dict[str, Any]) -> None:
    assert is_codex_entry(entry)


@pytest.mark.parametrize("field", CODEX_FIELDS)
def test_an_entry_without_one_of_them_is_rejected(field: str) -> None:
    assert not is_codex_entry({name: value for name, value in CODEX_ENTRY.items() if name != field})


@pytest.mark.parametrize("entry", [None, "qwen3", [], {}])
def test_what_is_no_entry_is_rejected(entry: Any) -> None:
    assert not is_codex_entry(entry)
