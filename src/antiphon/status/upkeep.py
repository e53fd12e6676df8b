"""What the upkeep of the store reports to the status and the metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class Upkeep:
    """The reason why this process does not delete expired data, or why it stores nothing."""

    clock_skew: float = 0.0
    """Seconds by which its clock is ahead of the store's."""
    purge_held: int = 0
    """Stored responses that have expired, if they are too many for one purge."""
    is_disk_full: bool = False
    """Whether the disk of the store has no room."""
    complete_failovers: int = 0
    """Times that another database server took over with all that this process had seen."""
    older_failovers: int = 0
    """Times that one took over that lacked a part of it."""
