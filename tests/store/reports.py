"""Promises about reports of `antiphon verify`."""

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import reports
from antiphon.storage.operations.reports import MOST_OF_ONE, MOST_REPORTS
from antiphon.storage.records.reports import StoredReport
from antiphon.storage.store import Store
from tests.store.making import hold


def _new(server: str, started_at: int = 100, model: str = "m") -> StoredReport:
    return StoredReport(new_id("report"), server, model, started_at, b'{"a": 1}', b"\0body")


async def _delete_all(store: Store) -> None:
    for one in await store.read(reports.every):
        await store.write(reports.delete, one.id)


async def _are_listed(store: Store) -> None:
    """A report is returned as it was stored; lists have all of them without bodies, newest
    first.
    """
    await _delete_all(store)
    old = _new("a", 100)
    new = _new("b", 200)
    for one in (new, old):
        await store.write(reports.put, one)
    hold(
        await store.read(reports.find, old.id) == old,
        f"{old} is returned as {await store.read(reports.find, old.id)}",
    )
    listed = list(await store.read(reports.every))
    expected = [replace(one, body=b"") for one in (new, old)]
    hold(listed == expected, f"{expected} are listed as {listed}")
    again = replace(old, started_at=300, summary=b"{}")
    await store.write(reports.put, again)
    hold(
        await store.read(reports.find, old.id) == again,
        "a report that is stored again does not replace the one before",
    )
    hold(
        [one.id for one in await store.read(reports.every)] == [old.id, new.id],
        "a report that is stored again is listed wrongly",
    )
    hold(await store.write(reports.delete, old.id), "a report cannot be deleted")
    hold(not await store.write(reports.delete, old.id), "a report is deleted twice")
    hold(await store.read(reports.find, old.id) is None, "a report that was deleted is found")
    hold(await store.read(reports.find, new.id) == new, "another report was deleted")
    await _delete_all(store)


async def _are_bounded(store: Store) -> None:
    """For one model of a server, and in total, the reports of the latest runs are kept."""
    await _delete_all(store)
    other = _new("a", 1, "other")
    first = _new("a", 2)
    for one in (other, first, *(_new("a", 100 + at) for at in range(MOST_OF_ONE))):
        await store.write(reports.put, one)
    hold(
        await store.read(reports.find, first.id) is None,
        f"a model of a server has more than {MOST_OF_ONE} reports",
    )
    hold(await store.read(reports.find, other.id) == other, "a report of another model was deleted")
    for at in range(MOST_REPORTS - MOST_OF_ONE):
        await store.write(reports.put, _new(f"server {at}", 200 + at))
    hold(
        len(await store.read(reports.every)) == MOST_REPORTS,
        f"{len(await store.read(reports.every))} reports are stored",
    )
    hold(await store.read(reports.find, other.id) is None, "the oldest report was not deleted")
    await _delete_all(store)
