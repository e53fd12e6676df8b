"""The time that the servers of one SQLite file agree on."""

from antiphon.storage.operations.step import Operation, ask


def read() -> Operation[tuple[float, str, int]]:
    """Get when the time was written by its writer's clock, who wrote it, and how often it was asked for."""
    (row,) = yield from ask("read_clock")
    at, written_by, asked = row
    return float(at), written_by, asked


def write(at: float, writer: str) -> Operation[None]:
    """Write the time."""
    yield from ask("write_clock", at, writer)


def request() -> Operation[None]:
    """Have the other servers write it."""
    yield from ask("ask_clock")
