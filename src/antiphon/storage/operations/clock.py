"""The shared time of the servers that use one SQLite file."""

from antiphon.storage.operations.step import Operation, query_rows


def read() -> Operation[tuple[float, str, int]]:
    """Return the written time, its writer, and the number of requests for updates."""
    (row,) = yield from query_rows("read_clock")
    at, written_by, requested = row
    return float(at), written_by, requested


def write(at: float, writer: str) -> Operation[None]:
    """Write the time."""
    yield from query_rows("write_clock", at, writer)


def request() -> Operation[None]:
    """Request that the other servers write it."""
    yield from query_rows("ask_clock")
