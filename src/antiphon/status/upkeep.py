"""What the deletion of expired data reports to the status and the metrics."""

from typing import Protocol


class UpkeepState(Protocol):
    """Why this process does not delete expired data, or why it stores nothing."""

    clock_skew: float
    """Seconds by which its clock is ahead of the store's."""
    purge_held: int
    """Stored responses that have expired, if they are too many for one purge."""
    is_disk_full: bool
    """Whether the disk of the store has no room."""
