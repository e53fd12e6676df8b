"""Detects whether this process's clock agrees with the clocks of the other servers that share an
SQLite file.

A file has no clock, so the servers write their time into it. A server does not write its own time
if it differs from the time that another server keeps updating. A time that no server updates is
outdated: this server then trusts its own clock.
"""

import math
from dataclasses import dataclass

MOST = 60.0
"""Maximum difference in seconds between two clocks that agree."""

WRITE_EVERY = 60.0
"""Seconds after which a server writes its time without a request."""

QUERY_INTERVAL = 5.0
"""Seconds between the requests of a server that disagrees: it requests that the others write their
time.
"""

ALONE = 30.0
"""Seconds without a reply after which this server assumes that it is the only one."""


@dataclass(frozen=True, slots=True)
class ClockVerdict:
    """The result of checking the written time.

    `skew` is in seconds ahead of the others, None while it is unknown.
    """

    skew: float | None
    writes: bool = False
    requests_time: bool = False


class ClockMarks:
    """Evaluates the written time on each check.

    `now` is the wall clock, `ticks` a monotonic clock, in seconds.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._mark: tuple[float, str] | None = None
        self._least, self._most = -math.inf, math.inf
        """Bounds of the skew when this time was first read. Its age is known within the interval of
        two checks.
        """
        self._ahead = 0.0
        """How far the wall clock was ahead of the monotonic clock then."""
        self._polled = self._wrote = self._requested_at = -math.inf
        self._doubted = math.inf
        """When the clocks began to differ without an update of the written time."""
        self._requested = 0
        self._is_live = False

    def judge(
        self, mark: tuple[float, str], requested: int, now: float, ticks: float
    ) -> ClockVerdict:
        """Evaluate the written time and the number of requests for updates."""
        is_requested = self._mark is not None and requested != self._requested
        self._requested = requested
        if not mark[1]:
            return self._write(now, ticks)
        if mark != self._mark:
            self._see(mark, now, ticks)
        self._polled = ticks
        moved = now - ticks - self._ahead  # this clock was set since then
        least = self._least + moved
        most = self._most + moved
        skew = min(max(0.0, least), most)
        is_old = (
            least == -math.inf and most > MOST
        )  # or its writer's clock is behind: the next update will show
        agrees = abs(skew) <= MOST and not is_old
        if not agrees:
            return self._doubt(skew, now, ticks)
        self._doubted = math.inf
        if is_requested or ticks - self._wrote >= WRITE_EVERY:
            return self._write(now, ticks)
        return ClockVerdict(skew)

    def _doubt(self, skew: float, now: float, ticks: float) -> ClockVerdict:
        """Request an update from the others, and trust this clock if none replies."""
        self._doubted = min(self._doubted, ticks)
        if ticks - self._doubted >= ALONE:
            return self._write(now, ticks)
        requests = ticks - self._requested_at >= QUERY_INTERVAL
        self._requested_at = ticks if requests else self._requested_at
        return ClockVerdict(skew if self._is_live else None, requests_time=requests)

    def _see(self, mark: tuple[float, str], now: float, ticks: float) -> None:
        self._is_live = self._mark is not None and mark[1] != self._name
        self._least = now - mark[0] - (ticks - self._polled)
        self._most = now - mark[0]
        self._mark = mark
        self._ahead = now - ticks
        self._doubted = math.inf

    def _write(self, now: float, ticks: float) -> ClockVerdict:
        self._mark = (now, self._name)
        self._least = 0.0
        self._most = 0.0
        self._polled = self._wrote = ticks
        self._ahead = now - ticks
        self._doubted = math.inf
        self._is_live = False
        return ClockVerdict(0.0, writes=True)
