"""Lookups of names: shared by a tenant's operations, and shared out fairly between tenants."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event

import pytest

from antiphon.outbound import lookups
from antiphon.outbound.lookups import NO_CALLER, Asker, Lookups, lookup_turns
from antiphon.sharing.scheduler import FairScheduler
from tests.support.waiting import let_others_run, until

A = Asker("a")
B = Asker("b")


class Names:
    """A resolver. Names that begin with `hung` are answered once the test says so."""

    def __init__(self) -> None:
        self.requested: list[str] = []
        self.release = Event()

    def __call__(self, name: str) -> Sequence[str]:
        self.requested.append(name)
        if name.startswith("hung"):
            self.release.wait(30)
        if name.startswith("unknown"):
            raise OSError("nobody knows it")
        if name.startswith("odd"):
            raise UnicodeError
        return ["192.0.2.1", "192.0.2.2", "192.0.2.1"]


@pytest.fixture
def names() -> Iterator[Names]:
    names = Names()
    yield names
    names.release.set()


async def until_requested(names: Names, count: int) -> None:
    await until(lambda: len(names.requested) >= count)


async def test_a_name_has_its_addresses_once_each(names: Names) -> None:
    assert await Lookups(lookup_turns(), names)("good", NO_CALLER) == ["192.0.2.1", "192.0.2.2"]


async def test_operations_of_a_tenant_share_a_lookup_and_those_of_another_tenant_do_not(
    names: Names,
) -> None:
    resolve = Lookups(lookup_turns(), names)
    pending = [asyncio.create_task(resolve("hung", asker)) for asker in (A, A, A, B)]
    await until_requested(names, 2)
    names.release.set()
    assert len(await asyncio.gather(*pending)) == 4
    assert names.requested == ["hung", "hung"]


async def test_a_resolved_name_is_not_resolved_again_for_a_moment(names: Names) -> None:
    now = 100.0
    resolve = Lookups(lookup_turns(), names, clock=lambda: now)
    for later, times in ((0.0, 1), (lookups.RETAINED - 0.1, 1), (0.2, 2)):
        now += later
        await resolve("good", A)
        assert len(names.requested) == times


async def test_names_that_never_answer_leave_room_for_another_tenant(names: Names) -> None:
    resolve = Lookups(FairScheduler(8, 100, leaves_room=True), names)
    hanging = [asyncio.create_task(resolve(f"hung-{number}", A)) for number in range(50)]
    await until_requested(names, 6)
    assert await asyncio.wait_for(resolve("good", B), 30) == ["192.0.2.1", "192.0.2.2"]
    names.release.set()
    await asyncio.gather(*hanging)


async def test_a_lookup_holds_its_slot_until_the_resolver_has_ended(
    names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "SECONDS", 0.01)
    turns = FairScheduler(8, 100)
    with pytest.raises(OSError, match="was not resolved within"):
        await Lookups(turns, names)("hung", A)
    assert turns.in_use == 1
    names.release.set()
    await until(lambda: not turns.in_use)


async def test_waiting_for_a_turn_is_not_counted(names: Names) -> None:
    stopped: list[bool] = []

    @contextmanager
    def pause() -> Iterator[None]:
        stopped.append(True)
        yield
        stopped.append(False)

    resolve = Lookups(FairScheduler(1, 100), names)
    first = asyncio.create_task(resolve("hung", A))
    await until_requested(names, 1)
    second = asyncio.create_task(resolve("good", Asker("b", pause)))
    await let_others_run(2)
    assert stopped == [True]
    names.release.set()
    await asyncio.gather(first, second)
    assert stopped == [True, False]


async def test_a_lookup_without_waiters_leaves_the_queue(names: Names) -> None:
    turns = FairScheduler(1, 100)
    resolve = Lookups(turns, names)
    first = asyncio.create_task(resolve("hung", A))
    await until_requested(names, 1)
    second = asyncio.create_task(resolve("good", B))
    await until(lambda: turns.waiting)
    second.cancel()
    await asyncio.wait({second})
    third = asyncio.create_task(resolve("good", B))
    names.release.set()
    assert await third
    await first
    assert names.requested == ["hung", "good"]
    assert (turns.waiting, turns.in_use) == (0, 0)


async def test_more_lookups_than_may_wait_are_refused(names: Names) -> None:
    resolve = Lookups(FairScheduler(1, 1), names)
    waiting = [asyncio.create_task(resolve(name, A)) for name in ("hung-1", "hung-2")]
    await until_requested(names, 1)
    with pytest.raises(OSError, match="too many names"):
        await resolve("good", A)
    names.release.set()
    await asyncio.gather(*waiting)


@pytest.mark.parametrize(
    ("name", "reason"), [("unknown", "nobody knows it"), ("odd", "it is not a valid host name")]
)
async def test_a_name_without_addresses_is_an_error_each_time(
    names: Names, name: str, reason: str
) -> None:
    turns = lookup_turns()
    resolve = Lookups(turns, names)
    for _ in range(2):
        with pytest.raises(OSError, match=reason):
            await resolve(name, A)
    assert names.requested == [name, name]
    assert turns.in_use == 0
