"""Reads the times of filters: how long ago, or a time of the calendar."""

import re
from calendar import monthrange, timegm
from collections.abc import Mapping

_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?)?"
    r"(?:(Z)|([+-])([0-9]{2}):?([0-9]{2}))?"
)
_AGO = re.compile(r"([0-9]{1,6})([smhdw])")

AGES: Mapping[str, int] = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_time(value: str, now: float) -> int | None:
    """Return a time in milliseconds since the epoch, None if it is invalid.

    `now` is in seconds. A time without an offset is in UTC.
    """
    if ago := _AGO.fullmatch(value):
        return int((now - int(ago[1]) * AGES[ago[2]]) * 1000)
    found = _TIME.fullmatch(value)
    if found is None:
        return None
    seconds = _seconds(*[int(part or 0) for part in found.groups()[:6]])
    sign, hours, minutes = found.groups()[8:]
    if seconds is None or (sign and (int(hours) > 23 or int(minutes) > 59)):
        return None
    offset = int(f"{sign}1") * (int(hours) * 3_600 + int(minutes) * 60) if sign else 0
    return (seconds - offset) * 1000 + int((found[7] or "").ljust(3, "0")[:3])


def _seconds(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int | None:
    """Return seconds since the epoch; None if there is no such time."""
    if not (1970 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    return timegm((year, month, day, hour, minute, second))
