import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.errors import BackendError
from antiphon.upstream.slots import Slots


class Gone(Exception):  # noqa: N818 - no fault of the slots
    """A request that fails while it has its slot."""


@dataclass
class Crowd:
    """Requests at some slots: each waits for its turn, and has it until it is told to end."""

    slots: Slots
    inside: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    ends: list[asyncio.Future[None]] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def come(self, tenant: str = "", *, is_patient: bool = False) -> None:
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ends.append(end)
        self.tasks.append(asyncio.create_task(self._hold(tenant, end, is_patient=is_patient)))
        await settle()

    async def _hold(self, tenant: str, end: asyncio.Future[None], *, is_patient: bool) -> None:
        try:
            await self.slots.enter(tenant, is_patient=is_patient)
            self.inside.append(tenant)
            try:
                await end
            finally:
                self.inside.remove(tenant)
                self.slots.leave(0.1)
        except BackendError:
            self.refused.append(tenant)
        except Gone:
            pass

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


TURNS = 4
"""Turns of the loop after which everybody has what is his."""


async def settle() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


Act = Callable[[Crowd, int], None]


def finish(crowd: Crowd, which: int) -> None:
    if not crowd.ends[which].done():
        crowd.ends[which].set_result(None)


def fail(crowd: Crowd, which: int) -> None:
    if not crowd.ends[which].done():
        crowd.ends[which].set_exception(Gone())


def abort(crowd: Crowd, which: int) -> None:
    crowd.tasks[which].cancel()


comings = st.tuples(st.sampled_from("abc"), st.booleans())
endings = st.tuples(st.sampled_from([finish, fail, abort]), st.integers(0, 30), st.integers(0, TURNS))
resizings = st.tuples(st.integers(0, 4), st.integers(0, 4))
scripts = st.lists(st.one_of(comings.map(lambda c: ("come", *c)), endings, resizings), max_size=40)


@given(scripts, resizings)
@example([("come", "a", False), ("come", "a", False), (finish, 0, 1), (abort, 1, TURNS)], (1, 4))
@example([("come", "a", False), ("come", "a", False), (finish, 0, 2), (abort, 1, TURNS)], (1, 4))
def test_the_counters_are_right_whichever_way_requests_end(
    script: list[tuple[object, ...]], size: tuple[int, int]
) -> None:
    async def play() -> None:
        crowd = Crowd(Slots(*size))
        for step in script:
            if step[0] == "come":
                await crowd.come(str(step[1]), is_patient=bool(step[2]))
            elif len(step) == 2:
                crowd.slots.resize(*step)  # type: ignore[arg-type]
            elif crowd.tasks:
                act, which, turns = step
                act(crowd, which % len(crowd.tasks))  # type: ignore[operator]
                if turns != TURNS:  # what comes next comes while this is still on its way
                    for _ in range(turns):  # type: ignore[call-overload]
                        await asyncio.sleep(0)
                    continue
            await settle()
            undone = sum(not task.done() for task in crowd.tasks)
            assert crowd.slots.in_flight == len(crowd.inside)
            assert crowd.slots.waiting == undone - len(crowd.inside)
            assert not (crowd.slots.waiting and crowd.slots.free)
        await crowd.close()
        assert (crowd.slots.in_flight, crowd.slots.waiting, len(crowd.slots._queues)) == (0, 0, 0)

    asyncio.run(play())


async def test_no_more_than_its_concurrency_have_a_slot_and_the_rest_wait() -> None:
    crowd = Crowd(Slots(2, 10))
    for _ in range(5):
        await crowd.come()

    assert (crowd.slots.in_flight, crowd.slots.waiting, crowd.slots.free) == (2, 3, 0)
    await crowd.close()


async def test_without_a_limit_nobody_waits() -> None:
    crowd = Crowd(Slots())
    for _ in range(50):
        await crowd.come()

    assert (crowd.slots.in_flight, crowd.slots.is_full) == (50, False)
    await crowd.close()


async def test_one_too_many_is_refused_at_once_with_the_time_to_wait() -> None:
    crowd = Crowd(Slots(1, 1))
    await crowd.come()
    await crowd.come()

    assert not crowd.slots.takes("")
    with pytest.raises(BackendError) as caught:
        await crowd.slots.enter()
    assert (caught.value.status, caught.value.code) == (503, "server_is_overloaded")
    assert int(caught.value.headers["retry-after"]) >= 1
    await crowd.close()


async def test_tenants_are_served_in_turn_however_many_one_of_them_sends() -> None:
    crowd = Crowd(Slots(1, 20))
    for tenant in ("first", *["noisy"] * 5, "a", "b", "a"):
        await crowd.come(tenant)
    served = []
    for _ in range(9):
        served += crowd.inside
        which = next(i for i, task in enumerate(crowd.tasks) if not task.done() and is_inside(crowd, i))
        finish(crowd, which)
        await settle()

    assert served == ["first", "noisy", "a", "b", "noisy", "a", "noisy", "noisy", "noisy"]


def is_inside(crowd: Crowd, which: int) -> bool:
    """Whether this one waits for its own end, and for no slot."""
    return bool(crowd.ends[which]._callbacks)


async def test_who_fills_the_queue_makes_room_for_who_has_less_in_it() -> None:
    crowd = Crowd(Slots(1, 3))
    for tenant in ("noisy", "noisy", "noisy", "noisy", "quiet"):
        await crowd.come(tenant)

    assert crowd.refused == ["noisy"]
    assert crowd.slots.waiting == 3
    await crowd.come("noisy")
    assert crowd.refused == ["noisy", "noisy"]
    await crowd.close()


async def test_who_is_patient_waits_in_any_case_and_is_never_sent_away() -> None:
    crowd = Crowd(Slots(1, 0))
    await crowd.come("a")
    for _ in range(3):
        await crowd.come("a", is_patient=True)
    await crowd.come("b")

    assert crowd.slots.waiting == 3
    assert crowd.refused == ["b"]
    await crowd.close()


async def test_more_slots_go_to_those_who_wait_at_once() -> None:
    crowd = Crowd(Slots(1, 10))
    for _ in range(5):
        await crowd.come()
    crowd.slots.resize(3, 10)
    await settle()
    assert (crowd.slots.in_flight, crowd.slots.waiting) == (3, 2)
    crowd.slots.resize(0, 10)
    await settle()
    assert (crowd.slots.in_flight, crowd.slots.waiting) == (5, 0)
    await crowd.close()


async def test_the_wait_that_is_told_grows_with_what_requests_take_and_with_the_queue() -> None:
    slots = Slots(2, 100)
    slots._took = 8.0

    assert slots.overloaded().headers == {"retry-after": "4"}
    slots.waiting = 9
    assert slots.overloaded().headers == {"retry-after": "40"}
    slots.waiting = 90
    assert slots.overloaded().headers == {"retry-after": "120"}
