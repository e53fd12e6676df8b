"""The shared time of the servers that use one SQLite file."""

from antiphon.storage.operations.step import Operation, ask


def read() -> Operation[tuple[float, str, int]]:
    """Return the written time, its writer, and the number of requests for updates."""
    (row,) = yield from ask("read_clock")
    at, written_by, asked = row
    return float(at), written_by, asked


def write(at: float, writer: str) -> Operation[None]:
    """Write the time."""
    yield from ask("write_clock", at, writer)


def request() -> Operation[None]:
    """Request that the other servers write it."""
    yield from ask("ask_clock")
