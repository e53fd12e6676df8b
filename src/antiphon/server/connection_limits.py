"""The connections of a process, as each of them needs to know the others."""

from dataclasses import dataclass


@dataclass(slots=True)
class Crowd:
    """What they have together."""

    most: int
    """How many there may be."""
    room: int
    """Bytes that may have come of messages on WebSockets that are not whole."""
    leaving: int = 0
    """How many have only to read why they end."""
    pending: int = 0
    """Bytes that have come of such messages."""
