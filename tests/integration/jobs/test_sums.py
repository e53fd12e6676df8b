"""Responses are summed up as long as there are some that are ready."""

from typing import Any

from antiphon.jobs.sums import Summing
from antiphon.storage.operations import figures
from tests.support.waiting import until


class Ready:
    """A store with so many portions of responses that are ready."""

    portions = 3

    async def write(self, operation: object) -> bool:
        assert operation is figures.sum_up
        self.portions -= 1
        return self.portions > 0


async def test_one_poll_sums_up_all_completed_responses() -> None:
    store: Any = Ready()
    summing = Summing(store)
    summing.start()
    await until(lambda: store.portions == 0)
    await summing.close()
