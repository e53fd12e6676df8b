"""What is reported when another server of the database takes over."""

import logging

import pytest

from antiphon.jobs.failovers import FailoverWatch
from antiphon.status.upkeep import Upkeep
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import StorePosition
from tests.support.cases import each


class Moving(SqliteStore):
    """A store whose log is where the test says."""

    places: list[StorePosition | None]

    async def position(self) -> StorePosition | None:
        return self.places.pop(0)


@each(
    ("places", "complete", "older"),
    [
        ([(1, 100), (1, 200), (1, 50)], 0, 0),
        ([(1, 100), (2, 100)], 1, 0),
        ([(1, 100), None, (2, 300), (2, 400), (3, 350)], 1, 1),
        ([(1, 10_100), (2, 100)], 0, 1),
        ([None, None], 0, 0),
    ],
)
async def test_a_new_timeline_is_a_failover_and_an_older_place_is_a_loss(
    places: list[tuple[int, int] | None],
    complete: int,
    older: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.clear()
    store = Moving.open("sqlite://")
    assert isinstance(store, Moving)
    upkeep = Upkeep()
    watch = FailoverWatch(store, upkeep)
    store.places = [one and StorePosition(*one) for one in places]
    while store.places:
        await watch.check()
    await store.close()
    assert (upkeep.complete_failovers, upkeep.older_failovers) == (complete, older)
    levels = [record.levelno for record in caplog.records]
    assert (levels.count(logging.WARNING), levels.count(logging.ERROR)) == (complete, older)
    assert ("lacks the last 10,000 bytes of the log" in caplog.text) is (places[0] == (1, 10_100))
