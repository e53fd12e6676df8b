"""The table of figures: the median of each, and nginx's beside it."""

import os
import platform
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from bench.interpreter import profile_proof, reason

Reading = tuple[str, str, float]
"""Name of a figure, whose it is (`OURS`, `NGINX` or `TARGET`), and the value."""

OURS = "antiphon"
NGINX = "nginx"
TARGET = "target"


def medians(readings: Iterable[Reading]) -> dict[str, dict[str, float]]:
    """Return the median of each figure by its name and by whose it is, in the order in which they
    first came.
    """
    figures: dict[str, dict[str, list[float]]] = {}
    for name, side, value in readings:
        figures.setdefault(name, {}).setdefault(side, []).append(value)
    return {
        name: {side: median(values) for side, values in sides.items()}
        for name, sides in figures.items()
    }


def figures_table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """Return all figures, a line each."""
    return table(
        [
            ("median", OURS, NGINX, "ratio"),
            *(_cells(name, sides) for name, sides in figures.items()),
        ]
    )


def machine() -> str:
    """Return what was measured on: Python, how it was built, and why it was chosen."""
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    arguments = sysconfig.get_config_var("CONFIG_ARGS") or "unknown"
    proof = profile_proof()
    kind = f"optimised ({proof})" if proof else "NOT known to be optimised"
    return (
        f"Python {platform.python_version()}, {kind}, CONFIG_ARGS: {arguments}\n"
        f"{reason() or f'{sys.executable}: chosen by hand'}\n"
        f"{os.cpu_count()} cores, load average before it began: {load}"
    )


def _cells(name: str, sides: Mapping[str, float]) -> tuple[str, ...]:
    ours = sides[OURS]
    nginx = sides.get(NGINX)
    return (
        name,
        short(ours),
        "" if nginx is None else short(nginx),
        f"{ours / nginx:.3f}" if nginx else "",
    )


def short(value: float) -> str:
    """Return a number with the three digits that mean something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows in columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(cells, widths) for cells in rows)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *rest = (f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join([f"{name.strip():<{widths[0]}}", *rest]).rstrip()
