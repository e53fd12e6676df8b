"""The time that the servers of one SQLite file agree on."""

from antiphon.storage.operations.step import Operation, ask


def read() -> Operation[tuple[float, str, int]]:
    """Get the time that was written, its writer, and how often servers have requested it."""
    (row,) = yield from ask("read_clock")
    at, written_by, asked = row
    return float(at), written_by, asked


def write(at: float, writer: str) -> Operation[None]:
    """Write the time."""
    yield from ask("write_clock", at, writer)


def request() -> Operation[None]:
    """Ask the other servers to write it."""
    yield from ask("ask_clock")
