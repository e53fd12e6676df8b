"""Notifies the other processes of one SQLite file at once of changes in it.

Each process has a datagram socket in a folder next to the file, which only its owner can use. A
hint that is lost, because a buffer is full, a process is stopped, or the path is too long for a
socket, costs no more than the next look for writes of others.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LONGEST = 100
"""Bytes of a socket's path that every system accepts."""

LARGEST = 512
"""Bytes of a hint: the name of a change."""

DEAD = (ConnectionRefusedError, FileNotFoundError)
"""Errors of a datagram to a socket without a process. All others are temporary."""


class WakeSockets:
    """The socket of this process, and those of the others. `receive` is called with each change
    that another process announces.
    """

    def __init__(self, path: Path, name: str, receive: Callable[[str], None]) -> None:
        self._folder = path.with_name(f"{path.name}-wakes")
        self._name = f"{name[-16:]}.sock"
        self._receive = receive
        self._socket: socket.socket | None = None
        self.others: list[str] = []
        """The paths of the other processes' sockets, as of the last look."""

    def open(self) -> None:
        """Receive hints from now on, in the running event loop; without a socket, do nothing."""
        path = str(self._folder / self._name)
        if len(path.encode()) > LONGEST or not hasattr(socket, "AF_UNIX"):
            return
        own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        own.setblocking(False)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            own.bind(path)
        except OSError:  # the file system has no sockets, or the folder belongs to someone else
            own.close()
            return
        self._socket = own
        asyncio.get_running_loop().add_reader(own, self._read)

    def refresh(self) -> None:
        """See which other processes there are now."""
        if self._socket is None:
            return
        with suppress(OSError):
            self.others = [
                str(path)
                for path in self._folder.iterdir()
                if path.suffix == ".sock" and path.name != self._name
            ]

    def notify(self, changed: str) -> None:
        """Notify the others of a change."""
        if self._socket is None:
            return
        for path in list(self.others):
            try:
                self._socket.sendto(changed.encode()[:LARGEST], path)
            except DEAD:
                self.others.remove(path)
                with suppress(OSError):
                    Path(path).unlink()
            except OSError:  # it cannot take a hint now, or the system has no buffer
                pass

    def close(self) -> None:
        """Receive no more hints."""
        if self._socket is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._socket = None
        with suppress(OSError):
            (self._folder / self._name).unlink()
            self._folder.rmdir()  # unless others use it

    def _read(self) -> None:
        while self._socket is not None:
            try:
                changed = self._socket.recv(LARGEST)
            except OSError:
                return
            self._receive(changed.decode(errors="replace"))
