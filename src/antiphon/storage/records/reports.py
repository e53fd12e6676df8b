"""Stored reports of `antiphon verify`."""

from msgspec import Struct


class StoredReport(Struct, frozen=True):
    """The report of one run against one server."""

    id: str
    server: str
    """The name of the verified server, or its address."""
    model: str
    started_at: int
    """Seconds since the epoch, by the clock of the machine that ran `antiphon verify`."""
    summary: bytes
    """The part of the report that lists show, as JSON."""
    body: bytes = b""
    """The report as JSON, compressed with zstd. Empty in lists."""
