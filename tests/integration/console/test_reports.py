"""Reports of `antiphon verify`: what is kept of them, how they are listed, and what changed between
two.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.console.reports import MOST_BYTES, MOST_COMPARED, Reports
from antiphon.errors import ClientError
from antiphon.sharing.offload import Offload, thread_turns
from antiphon.storage.open import open_store
from antiphon_verify.report import Report, Result, Shown, encode_report


def result(name: str, outcome: Any = "passed", **changes: Any) -> Result:
    known = {
        "level": "must",
        "kind": "protocol",
        "source": "spec 1",
        "sentence": f"Sentence of {name}.",
    }
    return Result(**known | {"id": name, "outcome": outcome} | changes)


def report(*results: Result, **changes: Any) -> Report:
    plain = {
        "name": "gpu-a",
        "version": "1",
        "base_url": "http://10.0.0.7/v1",
        "model": "m",
        "started_at": 100,
    }
    return Report(**plain | {"seconds": 1.5, "requests": 9, "results": results} | changes)


@dataclass
class Archive:
    reports: Reports
    ids: list[str] = field(default_factory=list)

    async def save(self, one: Report) -> str:
        return str((await self.reports.save(encode_report(one)))["id"])


@pytest.fixture
async def archive() -> AsyncIterator[Archive]:
    store = await open_store("sqlite://")
    offload = Offload(thread_turns())
    yield Archive(Reports(store, offload))
    offload.close()
    await store.close()


async def test_a_report_is_listed_with_its_figures(archive: Archive) -> None:
    await archive.save(
        report(result("a:b:one"), result("a:b:two", "failed"), result("a:c:three", "not offered"))
    )
    (listed,) = await archive.reports.list()
    assert listed["server"] == "gpu-a"
    assert (listed["musts_passed"], listed["musts_broken"], listed["conforms"]) == (1, 1, False)
    assert listed["outcomes"] == {
        "passed": 1,
        "failed": 1,
        "blocked": 0,
        "not offered": 1,
        "skipped": 0,
    }


async def test_the_same_report_is_stored_once(archive: Archive) -> None:
    one = report(result("a:b:one"))
    assert await archive.save(one) == await archive.save(one)
    assert len(await archive.reports.list()) == 1


async def test_a_report_is_compared_with_the_one_before_of_the_same_model(archive: Archive) -> None:
    first = await archive.save(report(result("a:b:one"), result("a:b:two", "failed")))
    await archive.save(report(result("a:b:one", "failed"), model="other", started_at=150))
    worse = result("a:b:one", "failed", came="status 500")
    second = await archive.save(report(worse, result("a:b:two"), started_at=200))
    details = await archive.reports.details(second)
    assert details["previous"]["id"] == first
    assert details["changes"] == [
        {
            "id": "a:b:one",
            "before": "passed",
            "now": "failed",
            "is_worse": True,
            "came": "status 500",
        },
        {"id": "a:b:two", "before": "failed", "now": "passed", "is_worse": False, "came": ""},
    ]
    oldest = await archive.reports.details(first)
    assert (oldest["previous"], oldest["changes"]) == (None, [])


async def test_details_are_by_area_and_keep_a_known_deviation(archive: Archive) -> None:
    exchange = Shown(request="POST /v1/responses secret", answer="500")
    known = result("a:c:three", "skipped", known="It never did.", exchanges=(exchange,))
    saved = await archive.save(report(result("a:b:one"), known))
    areas = (await archive.reports.details(saved))["areas"]
    assert [(one["area"], one["passed"], one["judged"]) for one in areas] == [
        ("a:b", 1, 1),
        ("a:c", 0, 1),
    ]
    assert areas[1]["results"][0]["state"] == "known"
    assert "secret" not in str(areas)


async def test_the_matrix_has_the_newest_report_of_each_server_and_model(archive: Archive) -> None:
    await archive.save(report(result("a:b:one", "failed")))
    newest = await archive.save(report(result("a:b:one"), started_at=200))
    other = await archive.save(report(result("a:b:two"), name="gpu-b", started_at=50))
    matrix = await archive.reports.matrix([])
    assert [one["id"] for one in matrix["reports"]] == [newest, other]
    (area,) = matrix["areas"]
    assert area["scores"] == ["1/1", "1/1"]
    assert [row["states"] for row in area["rows"]] == [
        ["passed", "not in report"],
        ["not in report", "passed"],
    ]
    assert [one["id"] for one in (await archive.reports.matrix([other]))["reports"]] == [other]


async def test_what_is_unknown_or_invalid_is_rejected(archive: Archive) -> None:
    calls = (
        archive.reports.details("x"),
        archive.reports.matrix(["x"]),
        archive.reports.delete("x"),
    )
    for call in calls:
        with pytest.raises(ClientError, match="not found"):
            await call
    with pytest.raises(ClientError, match="at most"):
        await archive.reports.matrix(["x"] * (MOST_COMPARED + 1))
    for body in (b"", b"[]", b"\xff", b'{"format": 1}'):
        with pytest.raises(ClientError, match="is not a report"):
            await archive.reports.save(body)
    with pytest.raises(ClientError, match="At most"):
        await archive.reports.save(encode_report(report(result("a:b:one", came="x" * MOST_BYTES))))


async def test_a_password_in_the_address_is_not_stored(archive: Archive) -> None:
    saved = await archive.save(
        replace(report(result("a:b:one")), name="", base_url="http://u:hidden@10.0.0.7/v1")
    )
    assert "hidden" not in str((await archive.reports.list(), await archive.reports.details(saved)))


async def test_a_deleted_report_is_not_found(archive: Archive) -> None:
    saved = await archive.save(report(result("a:b:one")))
    await archive.reports.delete(saved)
    assert await archive.reports.list() == []
