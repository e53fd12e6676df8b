"""Draws how the cost of a request grows with its size, as curves in SVG: one panel for each kind of
thing in it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 240
HEIGHT = 200
LEFT = 62
TOP = 64
BELOW = 44
GAP = 18
FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"
)
STYLE = (
    f"text{{font-family:{FONT};font-size:13px;fill:#55524a}}.title{{font-size:15px;"
    f"font-weight:650;fill:#1b1a17}}"
    ".sheet{fill:#ffffff;stroke:#e7e4db}.axis{stroke:#c9c4b6;fill:none}.curve{fill:none;"
    "stroke-width:2.2}"
    ".now{stroke:#4a68dc}.now.dot,.now.name{fill:#2c4fcf}.before{stroke:#c98a1e}.before.dot,"
    ".before.name{fill:#865a07}"
    ".name{stroke:none;font-weight:600}"
    "@media "
    "(prefers-color-scheme:dark){text{fill:#c3c0b7}.title{fill:#eceae4}.sheet{fill:#1a1a18;"
    "stroke:#2d2c29}"
    ".axis{stroke:#504d47}.now{stroke:#7c97f8}.now.dot,.now.name{fill:#9db2ff}"
    ".before{stroke:#d9a245}.before.dot,.before.name{fill:#efc377}}"
)


@dataclass(frozen=True, slots=True)
class Panel:
    """What is drawn in one panel: the µs of CPU time that one takes, by how many there are, for
    each curve.
    """

    title: str
    curves: dict[str, dict[int, float]]


def drawn(title: str, description: str, panels: Sequence[Panel], names: dict[str, str]) -> str:
    """Return the SVG. `names` has the words for each curve, which is a class of the style: `now` or
    `before`.
    """
    width = len(panels) * (LEFT + WIDTH + GAP) + GAP
    height = TOP + HEIGHT + BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="title description">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">{escape(description)}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="sheet" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="9"/>',
    ]
    for number, (curve, words) in enumerate(names.items()):
        parts.append(_text(GAP + 210 * number, 24, words, f"{curve} name"))
    for number, panel in enumerate(panels):
        parts += _panel(panel, GAP + LEFT + number * (LEFT + WIDTH + GAP))
    return "\n".join([*parts, "</svg>\n"])


def _panel(panel: Panel, left: float) -> Iterator[str]:
    sizes = sorted({size for curve in panel.curves.values() for size in curve})
    highest = _round_up(max(cost for curve in panel.curves.values() for cost in curve.values()))
    spread = math.log(sizes[-1] / sizes[0])

    def at(size: int, cost: float) -> tuple[float, float]:
        return left + 12 + math.log(size / sizes[0]) / spread * (WIDTH - 24), TOP + HEIGHT * (
            1 - cost / highest
        )

    yield _text(left - LEFT + 8, TOP - 16, panel.title, "title")
    yield f'<path class="axis" d="M{left} {TOP}v{HEIGHT}h{WIDTH}"/>'
    for cost in (0, highest / 2, highest):
        yield _text(
            left - 8,
            at(sizes[0], cost)[1] + 4,
            f"{cost:,.3g}" if cost < 100 else f"{cost:,.0f}",
            "",
            "end",
        )
    for size in sizes:
        yield _text(at(size, 0)[0], TOP + HEIGHT + 18, f"{size:,}", "", "middle")
    for name, curve in panel.curves.items():
        points = [at(size, cost) for size, cost in sorted(curve.items())]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        yield f'<path class="curve {name}" d="M{line}"/>'
        for x, y in points:
            yield f'<circle class="{name} dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _round_up(value: float) -> float:
    """Return the next value of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _text(x: float, y: float, words: str, style: str, anchor: str = "start") -> str:
    return (
        f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )
