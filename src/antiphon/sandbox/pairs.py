"""Lets Python programs in a machine without sockets use what needs a pair of them, such as asyncio:
it becomes a pipe.

The machine runs this as the `sitecustomize` of every Python, and as part of its kernel program.
Where the system permits sockets, nothing changes; elsewhere what needs one says why it fails.
Standard library only.
"""

import _frozen_importlib_external as external
import errno
import os
import sys
from typing import Any

NO_SOCKETS = "This container has no sockets, not even between its own processes"
ONE_WAY = f"{NO_SOCKETS}: this pair is a pipe, from the second end to the first"


class PipeEnd:
    """One end of a pipe, with the methods of a socket that asyncio calls."""

    def __init__(self, file: int) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        """Say why an end has no other methods."""
        raise AttributeError(f"{name}: {ONE_WAY}")

    def fileno(self) -> int:
        """Return the open file."""
        return self._file

    def setblocking(self, flag: bool) -> None:
        """Wait in `recv` and `send`, or not."""
        os.set_blocking(self._file, flag)

    def recv(self, size: int) -> bytes:
        """Read from the first end."""
        try:
            return os.read(self._file, size)
        except OSError as error:
            raise _explained(error, errno.EBADF, ONE_WAY) from None

    def send(self, data: bytes) -> int:
        """Write to the second end."""
        try:
            return os.write(self._file, data)
        except OSError as error:
            raise _explained(error, errno.EBADF, ONE_WAY) from None

    def detach(self) -> int:
        """Return the open file, which the caller closes."""
        file = self._file
        self._file = -1
        return file

    def close(self) -> None:
        """Close the end."""
        if self._file >= 0:
            os.close(self.detach())


class Pairs:
    """Imports the modules in `CHANGES` as usual, and then changes them."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """See `importlib.abc.MetaPathFinder`."""
        change = CHANGES.get(name)
        if change is None:
            return None
        spec = external.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                change(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _change_sockets(module: Any) -> None:
    """Make `socketpair` return the two ends of a pipe if there are no sockets; the errors of others
    say why.
    """
    socketpair = module.socketpair
    begin = module.socket.__init__

    def pair(*arguments: Any, **named: Any) -> Any:
        try:
            return socketpair(*arguments, **named)
        except PermissionError:
            return tuple(map(PipeEnd, os.pipe()))

    def explained(self: Any, *arguments: Any, **named: Any) -> None:
        try:
            begin(self, *arguments, **named)
        except PermissionError as error:
            raise _explained(error, errno.EPERM, NO_SOCKETS) from None

    module.socketpair = pair
    module.socket.__init__ = explained


def _change_connections(module: Any) -> None:
    """Make `multiprocessing.Pipe()` two pipes if there are no sockets.

    It can be inherited, not sent to a process.
    """
    pipe = module.Pipe

    class Duplex(module.Connection):  # type: ignore[misc]
        """A connection that reads from one pipe and writes to the other."""

        def __init__(self, source: int, sink: int) -> None:
            super().__init__(source)
            self._sink = sink

        def _send(self, buf: Any, write: Any = os.write) -> None:
            with memoryview(buf) as data:
                done = 0
                while done < len(data):
                    done += write(self._sink, data[done:])

        def _close(self) -> None:
            super()._close()
            os.close(self._sink)

        def __reduce__(self) -> Any:
            raise PermissionError(
                errno.EPERM, f"{NO_SOCKETS}: only a forked process can have this connection"
            )

    def new_pipe(duplex: bool = True) -> Any:
        if not duplex or _has_sockets():
            return pipe(duplex)
        (first, to_first), (second, to_second) = os.pipe(), os.pipe()
        return Duplex(first, to_second), Duplex(second, to_first)

    module.Pipe = new_pipe


def _change_contexts(module: Any) -> None:
    """Start processes with `fork` if there are no sockets, which the default of newer versions
    needs.
    """
    default = module._default_context
    if default._default_context._name == "forkserver" and not _has_sockets():
        default._default_context = module._concrete_contexts["fork"]


CHANGES = {
    "socket": _change_sockets,
    "multiprocessing.connection": _change_connections,
    "multiprocessing.context": _change_contexts,
}


def _has_sockets() -> bool:
    import _socket  # noqa: PLC0415 - only for programs that ask

    try:
        _socket.socket().close()
    except OSError:
        return False
    return True


def _explained(error: OSError, number: int, text: str) -> OSError:
    return OSError(number, text) if error.errno == number else error


if __name__ in ("sitecustomize", "startup"):  # and not in the server, which binds this file
    sys.meta_path.insert(0, Pairs())
