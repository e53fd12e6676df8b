"""The time of a store: the clock of a process, corrected by that of the database or of other
servers.
"""

from antiphon.ids import Clock


class StoreClock:
    """Starts as the process's clock `now`, until `correct` is called."""

    def __init__(self, now: Clock) -> None:
        self.process_now = now
        self.correction = 0.0
        self.shift = 0
        """Seconds to add to a time of the process's clock, to store it."""

    def correct(self, skew: float, correction: float) -> None:
        """Set the skew of the process's clock, and the correction to apply to times for reads."""
        is_off = abs(skew) >= 1
        self.shift = int(-skew) if is_off else 0
        self.correction = correction if is_off else 0.0

    def exact_now(self) -> float:
        """Return the time in seconds."""
        return self.process_now() + self.correction

    def now(self) -> int:
        """Return the time in whole seconds."""
        return int(self.process_now() + self.correction)
