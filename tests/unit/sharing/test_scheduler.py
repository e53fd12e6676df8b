import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.sharing.resources import SharedResources
from antiphon.sharing.scheduler import FairScheduler, NoRoomError, deferred
from tests.support.waiting import let_others_run


class Broken(Exception):  # noqa: N818 - not a fault of the scheduler
    """An operation that fails while it holds its slot."""


@dataclass
class Crowd:
    """Operations at one scheduler: each waits for its turn, and holds its slot until the test ends
    it.
    """

    scheduler: FairScheduler
    inside: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    ends: list[asyncio.Future[None]] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    awaited: set[asyncio.Future[None]] = field(default_factory=set)
    """The ends of the operations that hold a slot, and of those that held one."""
    order: list[str] = field(default_factory=list)
    """The tenants in the order in which their operations got a slot."""

    async def come(self, tenant: str = "", *, cost: float = 1.0, is_patient: bool = False) -> None:
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ends.append(end)
        self.tasks.append(asyncio.create_task(self._hold(tenant, end, cost, is_patient)))
        await settle()

    async def finish_oldest(self) -> None:
        """End the operation that has held its slot for longest."""
        next(end for end in self.ends if end in self.awaited and not end.done()).set_result(None)
        await settle()

    async def _hold(
        self, tenant: str, end: asyncio.Future[None], cost: float, is_patient: bool
    ) -> None:
        try:
            await self.scheduler.enter(tenant, cost=cost, is_patient=is_patient)
        except NoRoomError:
            self.refused.append(tenant)
            return
        self.inside.append(tenant)
        self.order.append(tenant)
        self.awaited.add(end)
        try:
            await end
        except Broken:
            pass
        finally:
            self.inside.remove(tenant)
            self.scheduler.leave(tenant, 0.1)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for end in self.ends:
            if end.done() and not end.cancelled():
                end.exception()  # an operation that was aborted retrieved none


TURNS = 4
"""Turns of the loop after which every operation has the slot that is meant for it."""


async def settle() -> None:
    await let_others_run(TURNS)


Act = Callable[[Crowd, int], None]


def finish(crowd: Crowd, which: int) -> None:
    if not crowd.ends[which].done():
        crowd.ends[which].set_result(None)


def fail(crowd: Crowd, which: int) -> None:
    if not crowd.ends[which].done():
        crowd.ends[which].set_exception(Broken())


def abort(crowd: Crowd, which: int) -> None:
    crowd.tasks[which].cancel()


comings = st.tuples(st.sampled_from("abc"), st.floats(0.1, 5), st.booleans())
endings = st.tuples(
    st.sampled_from([finish, fail, abort]), st.integers(0, 30), st.integers(0, TURNS)
)
resizings = st.tuples(st.integers(0, 4), st.integers(0, 4))
scripts = st.lists(st.one_of(comings.map(lambda c: ("come", *c)), endings, resizings), max_size=40)


@given(scripts, resizings, st.integers(0, 3), st.booleans())
@example(
    [("come", "a", 1.0, False), ("come", "a", 1.0, False), (finish, 0, 1), (abort, 1, TURNS)],
    (1, 4),
    0,
    False,
)
@example(
    [("come", "a", 1.0, False), ("come", "a", 1.0, False), (finish, 0, 2), (abort, 1, TURNS)],
    (1, 4),
    0,
    False,
)
def test_counts_are_right_however_operations_end(
    script: list[tuple[object, ...]], size: tuple[int, int], per_tenant: int, leaves_room: bool
) -> None:
    async def play() -> None:
        crowd = Crowd(FairScheduler(*size, per_tenant=per_tenant, leaves_room=leaves_room))
        scheduler = crowd.scheduler
        for step in script:
            if step[0] == "come":
                _, tenant, cost, is_patient = step
                await crowd.come(str(tenant), cost=cost, is_patient=bool(is_patient))  # type: ignore[arg-type]
            elif len(step) == 2:
                scheduler.resize(*step)  # type: ignore[arg-type]
            elif crowd.tasks:
                act, which, turns = step
                act(crowd, which % len(crowd.tasks))  # type: ignore[operator]
                if turns != TURNS:  # the next step comes while this one is still under way
                    await let_others_run(turns)
                    continue
            await settle()
            undone = sum(not task.done() for task in crowd.tasks)
            assert scheduler.in_use == len(crowd.inside)
            assert scheduler.waiting == undone - len(crowd.inside)
            if not per_tenant and not leaves_room:
                assert not (scheduler.waiting and scheduler.free), (
                    "a slot is free while operations wait"
                )
            if per_tenant:
                assert all(crowd.inside.count(tenant) <= per_tenant for tenant in "abc")
        await crowd.close()
        assert (scheduler.in_use, scheduler.waiting, scheduler.usage.oldest_wait) == (0, 0, 0.0)
        assert not scheduler.tenants

    asyncio.run(play())


async def test_no_more_than_its_capacity_run_and_the_rest_wait() -> None:
    crowd = Crowd(FairScheduler(2, 10))
    for _ in range(5):
        await crowd.come()

    assert (crowd.scheduler.in_use, crowd.scheduler.waiting, crowd.scheduler.free) == (2, 3, 0)
    await crowd.close()


async def test_without_a_limit_nothing_waits() -> None:
    crowd = Crowd(FairScheduler())
    for _ in range(50):
        await crowd.come()

    assert (crowd.scheduler.in_use, crowd.scheduler.is_full) == (50, False)
    await crowd.close()


async def test_one_too_many_is_refused_at_once_with_the_time_to_wait() -> None:
    crowd = Crowd(FairScheduler(1, 1))
    await crowd.come()
    await crowd.come()

    assert not crowd.scheduler.admits("")
    with pytest.raises(NoRoomError, match=r"the queue is full; try again in 0\.0 s"):
        await crowd.scheduler.enter()
    await crowd.close()


async def test_nothing_waits_unless_a_queue_is_requested() -> None:
    crowd = Crowd(FairScheduler(1))
    await crowd.come("first")
    await crowd.come("second")

    assert (crowd.inside, crowd.refused) == (["first"], ["second"])
    await crowd.close()


async def test_tenants_take_turns_however_many_operations_one_of_them_has() -> None:
    crowd = Crowd(FairScheduler(1, 20))
    for tenant in ("first", *["noisy"] * 5, "a", "b", "a"):
        await crowd.come(tenant)
    for _ in range(9):
        await crowd.finish_oldest()

    assert crowd.order == ["first", "noisy", "a", "b", "noisy", "a", "noisy", "noisy", "noisy"]


async def test_the_next_slot_goes_to_the_tenant_that_holds_the_fewest() -> None:
    crowd = Crowd(FairScheduler(3, 20))
    for tenant in ("noisy", "noisy", "noisy", "noisy", "noisy", "quiet"):
        await crowd.come(tenant)
    await crowd.finish_oldest()

    assert crowd.order[3:] == ["quiet"]
    await crowd.close()


async def test_a_tenant_that_holds_nothing_goes_before_one_that_holds_a_slot_and_received_less() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    crowd = Crowd(FairScheduler(2, 20))
    await crowd.come("quiet", cost=9.0)
    await crowd.finish_oldest()
    for tenant in ("first", "noisy", "noisy", "quiet"):
        await crowd.come(tenant)
    await crowd.finish_oldest()

    assert crowd.order == ["quiet", "first", "noisy", "quiet"]
    await crowd.close()


async def test_a_slot_that_was_free_counts_as_well_so_the_other_tenant_is_next() -> None:
    crowd = Crowd(FairScheduler(1, 20))
    for tenant in ("noisy", "noisy", "noisy", "quiet"):
        await crowd.come(tenant)
    await crowd.finish_oldest()

    assert crowd.order == ["noisy", "quiet"]
    await crowd.close()


async def test_what_is_known_of_tenants_has_a_bound() -> None:
    scheduler = FairScheduler(1)
    for number in range(10_000):
        assert scheduler.take(f"t{number}")
        scheduler.leave(f"t{number}")
        assert scheduler.take("same")
        scheduler.leave("same")

    assert len(scheduler._tags) < 200


class Compared(float):
    """A cost that counts how often what follows from it is compared."""

    times = 0

    def __radd__(self, other: float) -> "Compared":
        return Compared(other + float(self))

    def __gt__(self, other: float) -> bool:
        Compared.times += 1
        return float(self) > other


async def test_the_work_for_each_operation_does_not_grow_with_the_number_of_tenants() -> None:
    tenants = 2_000
    Compared.times = 0
    scheduler = FairScheduler(tenants)
    for number in range(tenants):
        assert scheduler.take(f"t{number}", cost=Compared(1.0))

    assert tenants <= Compared.times < 4 * tenants


async def test_a_tenant_with_costly_operations_gets_fewer_of_them() -> None:
    crowd = Crowd(FairScheduler(1, 100))
    await crowd.come("first")
    for _ in range(12):
        await crowd.come("large", cost=4.0)
        await crowd.come("small", cost=1.0)
    for _ in range(10):
        await crowd.finish_oldest()

    assert crowd.order[1:11].count("small") == 8
    assert crowd.order[1:11].count("large") == 2
    await crowd.close()


async def test_a_queue_that_empties_for_a_moment_gains_nothing() -> None:
    crowd = Crowd(FairScheduler(1, 100))
    await crowd.come("first")
    await crowd.come("large", cost=100.0)
    await crowd.come("small")
    await crowd.finish_oldest()
    assert crowd.order == ["first", "large"]
    await crowd.come("large")
    await crowd.come("small")
    for _ in range(3):
        await crowd.finish_oldest()

    assert crowd.order == ["first", "large", "small", "small", "large"]
    await crowd.close()


async def test_no_tenant_holds_more_than_its_limit() -> None:
    crowd = Crowd(FairScheduler(4, 20, per_tenant=2))
    for tenant in ("noisy", "noisy", "noisy", "quiet"):
        await crowd.come(tenant)

    assert sorted(crowd.inside) == ["noisy", "noisy", "quiet"]
    assert crowd.scheduler.waiting == 1
    await crowd.finish_oldest()
    assert crowd.order == ["noisy", "noisy", "quiet", "noisy"]
    await crowd.close()


@pytest.mark.parametrize("hostile", [1, 2, 3])
async def test_capacity_is_left_for_the_next_tenant_however_much_others_request(
    hostile: int,
) -> None:
    crowd = Crowd(FairScheduler(16, 100, leaves_room=True))
    for number in range(40):
        await crowd.come(f"hostile-{number % hostile}")
    await crowd.come("quiet")

    assert "quiet" in crowd.inside
    assert len(crowd.inside) >= 13, "most of the slots are in use"
    await crowd.close()


async def test_a_tenant_alone_may_hold_every_slot_where_no_room_is_left() -> None:
    crowd = Crowd(FairScheduler(8, 20))
    for _ in range(10):
        await crowd.come("alone")

    assert len(crowd.inside) == 8
    await crowd.close()


async def test_the_tenant_that_fills_the_queue_makes_room_for_one_with_less_in_it() -> None:
    crowd = Crowd(FairScheduler(1, 3))
    for tenant in ("noisy", "noisy", "noisy", "noisy", "quiet"):
        await crowd.come(tenant)

    assert crowd.refused == ["noisy"]
    assert crowd.scheduler.waiting == 3
    await crowd.come("noisy")
    assert crowd.refused == ["noisy", "noisy"]
    await crowd.close()


async def test_queues_that_differ_by_exactly_one_make_no_room_for_each_other() -> None:
    crowd = Crowd(FairScheduler(1, 3))
    for tenant in ("noisy", "noisy", "noisy", "quiet"):
        await crowd.come(tenant)
    assert not crowd.refused

    await crowd.come(
        "quiet"
    )  # two of the other wait, and one of its own: to drop one would only turn this round
    assert crowd.refused == ["quiet"]
    await crowd.close()


async def test_a_queue_that_is_longer_by_two_makes_room() -> None:
    crowd = Crowd(FairScheduler(1, 2))
    for tenant in ("noisy", "noisy", "noisy"):
        await crowd.come(tenant)
    assert crowd.scheduler.admits("quiet")
    await crowd.come("quiet")

    assert crowd.refused == ["noisy"]
    assert not crowd.scheduler.admits("quiet")
    await crowd.close()


async def test_of_several_tenants_that_wait_the_one_with_most_makes_room() -> None:
    crowd = Crowd(FairScheduler(1, 4))
    for tenant in ("first", "few", "many", "many", "many", "new"):
        await crowd.come(tenant)

    assert crowd.refused == ["many"]
    assert crowd.scheduler.waiting == 4
    await crowd.close()


async def test_a_patient_operation_waits_in_any_case_and_is_never_dropped() -> None:
    crowd = Crowd(FairScheduler(1, 0))
    await crowd.come("a")
    for _ in range(3):
        await crowd.come("a", is_patient=True)
    await crowd.come("b")

    assert crowd.scheduler.waiting == 3
    assert crowd.refused == ["b"]
    await crowd.close()


async def test_more_slots_go_to_waiting_operations_at_once() -> None:
    crowd = Crowd(FairScheduler(1, 10))
    for _ in range(5):
        await crowd.come()
    crowd.scheduler.resize(3, 10)
    await settle()
    assert (crowd.scheduler.in_use, crowd.scheduler.waiting) == (3, 2)
    crowd.scheduler.resize(0, 10)
    await settle()
    assert (crowd.scheduler.in_use, crowd.scheduler.waiting) == (5, 0)
    await crowd.close()


async def test_the_expected_wait_grows_with_the_queue_and_with_how_long_operations_take() -> None:
    scheduler = FairScheduler(2, 100)
    for _ in range(100):
        assert scheduler.take()
        scheduler.leave(took=8.0)
    assert scheduler.expected_wait == pytest.approx(4.0, rel=0.01)
    scheduler.waiting = 9
    assert scheduler.expected_wait == pytest.approx(40.0, rel=0.01)
    scheduler.resize(0, 100)
    assert scheduler.expected_wait == pytest.approx(80.0, rel=0.01)


async def test_the_oldest_wait_is_that_of_the_first_operation_that_waits() -> None:
    now = 100.0
    crowd = Crowd(FairScheduler(1, 10, clock=lambda: now))
    await crowd.come("a")
    await crowd.come("b")
    now = 103.0
    await crowd.come("c")
    now = 105.0

    assert crowd.scheduler.usage.oldest_wait == 5.0
    shared = SharedResources()
    shared.add("pages", crowd.scheduler)
    assert shared.usage()["pages"].waiting == 2
    await crowd.close()


async def test_a_slot_is_returned_when_the_block_fails() -> None:
    scheduler = FairScheduler(1, 1)
    with pytest.raises(Broken):
        async with scheduler.slot("a"):
            raise Broken
    assert scheduler.in_use == 0


@pytest.mark.parametrize("slots", [1, 2])
def test_it_is_full_while_all_of_its_slots_are_in_use(slots: int) -> None:
    scheduler = FairScheduler(slots)
    fills = []
    for _ in range(slots):
        fills.append(scheduler.is_full)
        assert scheduler.take("a")

    assert (fills, scheduler.is_full) == ([False] * slots, True)
    scheduler.leave("a", 0.1)
    assert not scheduler.is_full


async def test_a_deferred_operation_waits_behind_all_others_even_if_they_come_later() -> None:
    crowd = Crowd(FairScheduler(1, bound=1))
    for tenant, is_patient in (
        ("a", False),
        (deferred("b"), True),
        (deferred("c"), True),
        ("a", False),
    ):
        await crowd.come(tenant, is_patient=is_patient)
    assert crowd.refused == []  # deferred operations leave the queue to the others

    for _ in range(3):
        await crowd.finish_oldest()
    assert crowd.order == ["a", "a", deferred("b"), deferred("c")]
    await crowd.close()


async def test_a_deferred_operation_that_waits_neither_lengthens_the_expected_wait_nor_fills_the_queue() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    crowd = Crowd(FairScheduler(1, bound=2))
    for _ in range(3):
        await crowd.come("a")
    await crowd.finish_oldest()
    await crowd.come(deferred("b"), is_patient=True)

    assert crowd.scheduler.waiting == 2
    assert crowd.scheduler.expected_wait == pytest.approx(0.02)
    assert crowd.scheduler.admits("c")
    await crowd.finish_oldest()
    await crowd.finish_oldest()
    assert crowd.order[-1] == deferred("b")
    assert crowd.scheduler.waiting == 0
    assert crowd.scheduler.expected_wait == pytest.approx(0.0271)
    await crowd.close()


async def test_deferred_operations_leave_an_eighth_free_and_no_limit_used_up() -> None:
    scheduler = FairScheduler(8, per_tenant=7)
    taken = [scheduler.take(deferred("a")) for _ in range(8)]
    assert taken == [True] * 7 + [False]
    assert scheduler.take("a")

    limited = FairScheduler(0, per_tenant=1)
    assert limited.take("a")
    assert not limited.take(deferred("a"))  # its own limit holds for both together
