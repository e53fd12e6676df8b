"""Processes of one file tell each other what has changed."""

import errno
import os
import socket
from pathlib import Path

import pytest

from antiphon.storage.sqlite.wakes import LONGEST, WakeSockets
from tests.support.waiting import until


def opened(path: Path, name: str, received: list[str]) -> WakeSockets:
    sockets = WakeSockets(path, name, received.append)
    sockets.open()
    return sockets


def names_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


async def test_a_change_reaches_the_others_and_not_oneself(tmp_path: Path) -> None:
    received: dict[str, list[str]] = {"a": [], "b": []}
    first = opened(tmp_path / "s.db", "a", received["a"])
    second = opened(tmp_path / "s.db", "b", received["b"])
    first.refresh()
    first.notify("resp_1")
    first.notify("")
    await until(lambda: len(received["b"]) == 2)

    assert received == {"a": [], "b": ["resp_1", ""]}
    first.close()
    second.close()
    assert names_in(tmp_path) == [], "nothing is left beside the file"


async def test_the_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    sockets = opened(tmp_path / "s.db", "a", [])

    assert (tmp_path / "s.db-wakes").stat().st_mode & 0o777 == 0o700
    sockets.close()


async def test_the_socket_of_a_dead_process_is_removed(tmp_path: Path) -> None:
    sockets = opened(tmp_path / "s.db", "a", [])
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    dead.bind(str(tmp_path / "s.db-wakes" / "dead.sock"))
    dead.close()
    sockets.refresh()
    assert len(sockets.others) == 1
    sockets.notify("resp_1")

    assert sockets.others == []
    assert names_in(tmp_path / "s.db-wakes") == ["a.sock"]
    sockets.close()


@pytest.mark.parametrize("reason", [errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM])
async def test_a_socket_that_cannot_take_a_hint_now_stays_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    received: list[str] = []
    sockets = opened(tmp_path / "s.db", "a", [])
    other = opened(tmp_path / "s.db", "b", received)
    sockets.refresh()

    def fail(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    with monkeypatch.context() as patched:
        patched.setattr(socket.socket, "sendto", fail)
        sockets.notify("resp_1")
    sockets.notify("resp_2")
    await until(lambda: received == ["resp_2"])

    other.close()
    sockets.close()


async def test_a_path_that_no_socket_can_have_means_no_hints(tmp_path: Path) -> None:
    path = tmp_path / ("x" * LONGEST) / "s.db"
    sockets = opened(path, "a", [])
    sockets.refresh()
    sockets.notify("resp_1")
    sockets.close()

    assert not path.parent.exists()


async def test_a_process_that_does_not_read_stops_no_one(tmp_path: Path) -> None:
    sockets = opened(tmp_path / "s.db", "a", [])
    full = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    full.bind(str(tmp_path / "s.db-wakes" / "full.sock"))
    sockets.refresh()
    for _ in range(2_000):
        sockets.notify("resp_" + "x" * 100)

    assert len(sockets.others) == 1
    full.close()
    sockets.close()
    assert names_in(tmp_path / "s.db-wakes") == ["full.sock"]
