"""What is kept of reports of `antiphon verify`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredReport:
    """One run against one server."""

    id: str
    server: str
    """The name of the server that was judged, else its address."""
    model: str
    started_at: int
    """Seconds since the epoch, by the clock of the machine on which `antiphon verify` ran."""
    summary: bytes
    """What lists show, as JSON."""
    body: bytes = b""
    """The report as JSON, compressed (zstd). Lists leave it empty."""
