"""Promises about reports of `antiphon verify`."""

from dataclasses import replace

from antiphon.ids import new_id
from antiphon.storage.contract import Store, StoredReport
from antiphon.storage.contract.reports import MOST_OF_ONE, MOST_REPORTS
from antiphon.testing.store.making import Promise, hold


def _new(server: str, started_at: int = 100, model: str = "m") -> StoredReport:
    return StoredReport(new_id("report"), server, model, started_at, b'{"a": 1}', b"\0body")


async def _delete_all(store: Store) -> None:
    for one in await store.reports():
        await store.delete_report(one.id)


async def _are_listed(store: Store) -> None:
    """A report is returned as it was stored; lists have all of them without bodies, newest first."""
    await _delete_all(store)
    old, new = _new("a", 100), _new("b", 200)
    for one in (new, old):
        await store.put_report(one)
    hold(await store.find_report(old.id) == old, f"{old} is returned as {await store.find_report(old.id)}")
    listed, expected = list(await store.reports()), [replace(one, body=b"") for one in (new, old)]
    hold(listed == expected, f"{expected} are listed as {listed}")
    again = replace(old, started_at=300, summary=b"{}")
    await store.put_report(again)
    hold(await store.find_report(old.id) == again, "a report that is stored again does not replace the one before")
    hold(
        [one.id for one in await store.reports()] == [old.id, new.id], "a report that is stored again is listed wrongly"
    )
    hold(await store.delete_report(old.id), "a report cannot be deleted")
    hold(not await store.delete_report(old.id), "a report is deleted twice")
    hold(await store.find_report(old.id) is None, "a report that was deleted is found")
    hold(await store.find_report(new.id) == new, "another report was deleted")
    await _delete_all(store)


async def _are_bounded(store: Store) -> None:
    """For one model of a server, and in total, the reports of the latest runs are kept."""
    await _delete_all(store)
    other, first = _new("a", 1, "other"), _new("a", 2)
    for one in (other, first, *(_new("a", 100 + at) for at in range(MOST_OF_ONE))):
        await store.put_report(one)
    hold(await store.find_report(first.id) is None, f"a model of a server has more than {MOST_OF_ONE} reports")
    hold(await store.find_report(other.id) == other, "a report of another model was deleted")
    for at in range(MOST_REPORTS - MOST_OF_ONE):
        await store.put_report(_new(f"server {at}", 200 + at))
    hold(len(await store.reports()) == MOST_REPORTS, f"{len(await store.reports())} reports are stored")
    hold(await store.find_report(other.id) is None, "the oldest report was not deleted")
    await _delete_all(store)


PROMISES: tuple[Promise, ...] = (_are_listed, _are_bounded)
