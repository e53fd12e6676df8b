"""Checks one after the other."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.trust import report
from antiphon.trust.claims import CheckedClaim
from antiphon.trust.place import PlaceError

HOLDS = CheckedClaim(check="load", claim="No request fails.", outcome="holds")


@asynccontextmanager
async def nothing(*_: Any, **__: Any) -> AsyncIterator[None]:
    yield


@asynccontextmanager
async def unusable(*_: Any, **__: Any) -> AsyncIterator[None]:
    raise PlaceError("A key could not be created.")
    yield


async def surprised(_: Any) -> Sequence[CheckedClaim]:
    raise KeyError("id")


async def sound(_: Any) -> Sequence[CheckedClaim]:
    return [HOLDS]


@pytest.mark.parametrize(
    ("opened", "outcomes"),
    [(nothing, ["broken", "holds"]), (unusable, ["broken", "broken"])],
)
async def test_a_check_that_cannot_end_is_a_broken_claim_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, opened: Any, outcomes: list[str]
) -> None:
    monkeypatch.setattr(report, "running", nothing)
    monkeypatch.setattr(report, "opened", opened)
    monkeypatch.setattr(report, "CHECKS", {"takeover": surprised, "load": sound})
    visible: list[CheckedClaim] = []

    found = await report.run_checks([], store="", minutes=1, seed=1, show=visible.append)

    assert [one.outcome for one in found.findings] == outcomes
    assert found.is_broken
    assert visible == found.findings
