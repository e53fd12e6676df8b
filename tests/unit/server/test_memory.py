import pytest

from antiphon.errors import AntiphonError, ClientError
from antiphon.server.memory import Account, Room


def is_full(room: Room, size: int, tenant: str) -> bool:
    try:
        room.take(size, tenant)
    except AntiphonError as error:
        assert (error.status, error.code) == (503, "server_is_overloaded")
        return True
    return False


def test_no_more_is_held_than_there_is_room() -> None:
    room = Room(100)
    room.take(60)
    assert is_full(room, 41, "")
    room.take(40)
    room.give_back(60)

    assert room.left == 60


def test_some_room_is_left_for_the_next_tenant() -> None:
    room = Room(1000)
    while not is_full(room, 10, "a"):
        pass
    while not is_full(room, 10, "b"):
        pass

    assert 0 < room.left <= 50
    assert not is_full(room, 10, "c")


def test_a_tenant_may_always_hold_the_largest_body() -> None:
    room = Room(100, least=100)

    assert not is_full(room, 100, "a")


def test_what_is_returned_is_free_for_its_tenant_again() -> None:
    room = Room(100)
    room.take(70, "a")
    assert is_full(room, 20, "a")
    room.give_back(70, "a")

    assert not is_full(room, 70, "a")
    assert room.left == 30


def test_a_connection_holds_no_more_than_its_own_limit() -> None:
    room = Room(1000)
    account = Account(room, 100, "a")
    account.take(90)
    with pytest.raises(ClientError, match="Too many bytes are waiting") as caught:
        account.take(11)
    assert caught.value.status == 429
    account.close()

    assert (account.held, room.left) == (0, 1000)


def test_a_connection_that_finds_no_room_holds_nothing_for_it() -> None:
    room = Room(10)
    account = Account(room, 100, "a")
    with pytest.raises(AntiphonError):
        account.take(50)

    assert (account.held, room.left) == (0, 10)
