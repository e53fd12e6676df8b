import asyncio

import pytest

from antiphon.errors import AntiphonError, ClientError
from antiphon.sharing.memory import LARGE, Account, Memory, weight_of_json
from tests.support.waiting import let_others_run


def is_full(memory: Memory, size: int, tenant: str) -> bool:
    try:
        memory.take(size, tenant)
    except AntiphonError as error:
        assert (error.status, error.code) == (503, "server_is_overloaded")
        return True
    return False


def test_memory_reservations_stay_within_the_limit() -> None:
    memory = Memory(100)
    memory.take(60)
    assert is_full(memory, 41, "")
    memory.take(40)
    memory.release(60)

    assert memory.left == 60


def test_some_room_is_left_for_the_next_tenant() -> None:
    memory = Memory(1000)
    while not is_full(memory, 10, "a"):
        pass
    while not is_full(memory, 10, "b"):
        pass

    assert 0 < memory.left <= 50
    assert not is_full(memory, 10, "c")


def test_a_tenant_may_always_hold_the_largest_body() -> None:
    memory = Memory(100, least=100)

    assert not is_full(memory, 100, "a")


def test_what_is_returned_is_free_for_its_tenant_again() -> None:
    memory = Memory(100)
    memory.take(70, "a")
    assert is_full(memory, 20, "a")
    memory.release(70, "a")

    assert not is_full(memory, 70, "a")
    assert memory.left == 30


def test_nothing_more_is_never_refused() -> None:
    memory = Memory(100)
    memory.take(70, "a")
    memory.take(30)

    assert not is_full(memory, 0, "a")


def test_a_connection_holds_no_more_than_its_own_limit() -> None:
    memory = Memory(1000)
    account = Account(memory, "a", 100)
    account.take(90)
    with pytest.raises(ClientError, match="Too many bytes are waiting") as caught:
        account.take(11)
    assert caught.value.status == 429
    account.close()

    assert (account.retained, memory.left) == (0, 1000)


def test_a_connection_that_finds_no_room_holds_nothing_for_it() -> None:
    memory = Memory(10)
    account = Account(memory, "a", 100)
    with pytest.raises(AntiphonError):
        account.take(50)

    assert (account.retained, memory.left) == (0, 10)


def test_what_never_fits_is_rejected_for_good() -> None:
    memory = Memory(1000)
    memory.take(800, "a")
    with pytest.raises(AntiphonError) as full:
        memory.take(190, "b")
    for size, tenant in ((1001, ""), (801, "b")):
        with pytest.raises(ClientError) as never:
            memory.take(size, tenant)
        assert (never.value.status, never.value.code, never.value.headers) == (
            413,
            "request_too_large",
            {},
        )

    assert (full.value.status, full.value.headers) == (503, {"retry-after": "1"})
    assert memory.most("b") == 800


async def test_patient_work_waits_for_what_is_not_free() -> None:
    memory = Memory(100)
    memory.take(80)
    patient = Account(memory, "", is_patient=True)
    waiting = asyncio.create_task(patient.obtain(50))
    await let_others_run()
    assert (waiting.done(), patient.retained) == (False, 0)
    memory.release(80)
    await waiting

    assert (patient.retained, memory.left) == (50, 50)


async def test_two_that_need_more_do_not_wait_for_each_other() -> None:
    memory = Memory(100)
    one, other = (Account(memory, "", is_patient=True) for _ in range(2))
    await one.obtain(50)
    await other.obtain(50)
    first = asyncio.create_task(one.obtain(30))
    second = asyncio.create_task(other.obtain(30))
    done, _ = await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED)
    for each in (one, other):
        each.close()
    await asyncio.gather(first, second)

    assert done
    assert one.retained + other.retained in (80, 160)


async def test_a_cancelled_waiter_reserves_no_memory() -> None:
    memory = Memory(100)
    memory.take(80)
    patient = Account(memory, "", is_patient=True)
    waiting = asyncio.create_task(patient.obtain(50))
    await let_others_run()
    waiting.cancel()
    await asyncio.wait({waiting})

    assert (patient.retained, memory.left) == (0, 20)


def test_a_dropped_account_releases_everything_without_being_closed() -> None:
    memory = Memory(100)
    account = Account(memory, "a")
    account.take(50)
    del account

    assert memory.left == 100


@pytest.mark.parametrize(
    ("text", "factor"), [(b"a", 3), ("\N{GRINNING FACE}".encode(), 8), (b"\\ud83d\\ude00", 8)]
)
def test_a_wide_character_makes_a_body_heavier(text: bytes, factor: int) -> None:
    body = b'"' + text + b"x" * LARGE + b'"'

    assert weight_of_json(body) == factor * len(body)
