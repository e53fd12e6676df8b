"""The table: the median of each figure, its target, and nginx's beside it."""

import os
import platform
from collections.abc import Iterable, Mapping
from statistics import median

Reading = tuple[str, str, float]
"""Name of a figure, whose it is (`OURS`, `NGINX` or `TARGET`), and the value."""

OURS, NGINX, TARGET = "antiphon", "nginx", "target"

AT_LEAST, AT_MOST = ">=", "<="

TARGETS: dict[str, tuple[str, float]] = {
    "translation of a delta in a burst, µs": (AT_MOST, 5),
    "translation of a delta alone, µs": (AT_MOST, 5),
    "plain requests, 1/s": (AT_LEAST, 3500),
    "plain requests, CPU µs": (AT_MOST, 1e6 / 3500),
    "plain requests, stored in SQLite, 1/s": (AT_LEAST, 2000),
    "plain requests, stored in SQLite, CPU µs": (AT_MOST, 1e6 / 2000),
    "streams of 256 deltas in one burst, 1/s": (AT_LEAST, 800),
    "streams of 256 deltas in one burst, CPU µs": (AT_MOST, 1e6 / 800),
    "streams of 256 deltas in one burst, stored in SQLite, 1/s": (AT_LEAST, 600),
    "streams of 256 deltas in one burst, stored in SQLite, CPU µs": (AT_MOST, 1e6 / 600),
    "history of 1,000 turns, SQLite, ms": (AT_MOST, 30),
    "history of 1,000 turns, PostgreSQL, ms": (AT_MOST, 60),
    "1,000 readers at once, SQLite: served without a cut": (AT_LEAST, 1000),
    "1,000 readers at once, PostgreSQL: served without a cut": (AT_LEAST, 1000),
    "start to first answer, s": (AT_MOST, 1),
    "memory idle, MB": (AT_MOST, 80),
    "memory of an open stream, kB": (AT_MOST, 60),
}
"""The performance budget. Rates are those of one core: on a busy machine the CPU beside them is the fairer judge."""

_HEADER = ("median", OURS, TARGET, "", NGINX, "ratio")


def table(readings: Iterable[Reading]) -> str:
    """Return all readings as a table, a line a figure, in the order in which they first came."""
    figures: dict[str, dict[str, list[float]]] = {}
    for name, side, value in readings:
        figures.setdefault(name, {}).setdefault(side, []).append(value)
    lines = [_HEADER, *(_cells(name, {side: median(sides[side]) for side in sides}) for name, sides in figures.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_line(cells, widths) for cells in lines)


def machine() -> str:
    """Return what was measured on."""
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, load average before it began: {load}"


def _cells(name: str, sides: Mapping[str, float]) -> tuple[str, ...]:
    ours, nginx = sides[OURS], sides.get(NGINX)
    bound, target = TARGETS.get(name, (AT_MOST, sides.get(TARGET)))
    ratio = f"{ours / nginx:.3f}" if nginx else ""
    return (
        name,
        _short(ours),
        f"{bound} {_short(target)}" if target else "",
        _verdict(ours, bound, target),
        _short(nginx),
        ratio,
    )


def _verdict(figure: float, bound: str, target: float | None) -> str:
    if target is None:
        return ""
    return "met" if (figure >= target if bound == AT_LEAST else figure <= target) else "MISSED"


def _short(value: float | None) -> str:
    """Return a number with the three digits that mean something."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    name, *rest = (f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join([f"{name.strip():<{widths[0]}}", *rest]).rstrip()
