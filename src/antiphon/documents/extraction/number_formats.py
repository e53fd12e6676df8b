"""Numbers that a workbook shows as dates, times or durations."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

_DATES = frozenset({*range(14, 18), 22, *range(27, 32), 36, *range(50, 59)})
_TIMES = frozenset({*range(18, 22), *range(32, 36), 45, 47})
BUILT_IN: Mapping[int, str] = {
    **dict.fromkeys(_DATES, "date"),
    **dict.fromkeys(_TIMES, "time"),
    46: "[h]:ms",
}
"""Numbers of the built-in formats that show a date or a time; the values are those of `kind_of`."""

_ELAPSED = re.compile(r"\[(h+|m+|s+)\]")
_NOT_A_FORMAT = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|_.|\*.')
_LAST_DAY = 2_958_465
"""31 December 9999."""
_NO_DAY = 60
"""29 February 1900 of the date system of 1900, which never was: all days before it are one
later.
"""


def kind_of(code: str) -> str:
    """Return what a format shows: `date`, `time`, a duration such as `[h]:ms` (hours, minutes,
    seconds), or nothing.
    """
    first = code.lower().partition(";")[0]
    elapsed = _ELAPSED.search(re.sub(r'"[^"]*"', "", first))
    codes = _NOT_A_FORMAT.sub("", first)
    if "general" in codes:
        return ""
    if elapsed:
        return f"[{elapsed[1][0]}]:" + "".join(sign for sign in "ms" if sign in codes)
    if "y" in codes or "d" in codes:
        return "date"
    if "h" in codes or "s" in codes:
        return "time"
    return "date" if "m" in codes else ""


def formatted(value: str, kind: str, *, is_1904: bool) -> str:
    """Return a number as a date, a time or a duration; unchanged if it is none."""
    try:
        days = float(value)
        if not 0 <= days <= _LAST_DAY:
            return value
        seconds = round(days * 86_400)
        return (
            _duration(seconds, kind)
            if kind.startswith("[")
            else _moment(days, seconds, kind, is_1904=is_1904)
        )
    except (ValueError, OverflowError):
        return value


def _duration(seconds: int, kind: str) -> str:
    unit = kind[1]
    rest = kind.partition(":")[2]
    if unit == "s":
        return str(seconds)
    if unit == "m":
        return f"{seconds // 60:02}" + (f":{seconds % 60:02}" if "s" in rest else "")
    hours, minutes = divmod(seconds // 60, 60)
    return (
        str(hours)
        + (f":{minutes:02}" if rest else "")
        + (f":{seconds % 60:02}" if "s" in rest else "")
    )


def _moment(days: float, seconds: int, kind: str, *, is_1904: bool) -> str:
    if is_1904:
        zero = datetime(1904, 1, 1)
    elif int(days) == _NO_DAY:
        return "1900-02-29"
    else:
        zero = datetime(1899, 12, 31 if days < _NO_DAY else 30)
    moment = zero + timedelta(seconds=seconds)
    if days < 1 and (kind == "time" or not is_1904):
        return moment.strftime("%H:%M:%S")
    return moment.strftime("%Y-%m-%d" if days.is_integer() else "%Y-%m-%d %H:%M:%S")
