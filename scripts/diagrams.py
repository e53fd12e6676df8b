"""Draw the diagrams of the documentation: `make diagrams`, `python scripts/diagrams.py [NAME …]`.

`docs/diagrams/NAME.toml` describes a diagram: boxes at positions in pixels, arrows between their
sides, and lanes with steps for a sequence. This program writes `docs/images/NAME.svg` from it. The
SVG has its own background, so it is readable on any page; its colours follow the colour scheme of
the page. It names fonts of the system and embeds none. A text that does not fit into its box is an
error, also with wide fonts.
"""

import sys
import tomllib
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "docs/diagrams"
IMAGES = ROOT / "docs/images"

Tone: TypeAlias = Literal["plain", "blue", "green", "amber", "red", "violet", "quiet"]
Point: TypeAlias = tuple[float, float]

# Of each tone: fill, line and text in the light scheme, then in the dark one.
TONES: dict[Tone, tuple[str, ...]] = {
    "plain": ("#f8f7f3", "#c9c4b6", "#55524a", "#20201e", "#504d47", "#c3c0b7"),
    "blue": ("#e8edfd", "#4a68dc", "#2c4fcf", "#222b4b", "#7c97f8", "#9db2ff"),
    "green": ("#e6f5ea", "#2f9158", "#19693c", "#18301f", "#4fb879", "#76cf9a"),
    "amber": ("#fcf1dc", "#c98a1e", "#865a07", "#352a14", "#d9a245", "#efc377"),
    "red": ("#fceae8", "#cf4a42", "#b3261e", "#3a1d1b", "#ee7068", "#ff958b"),
    "violet": ("#f1ebfb", "#8259cc", "#6238b0", "#2b2140", "#a98af0", "#c5b0fb"),
    "quiet": ("#ffffff", "#dcd8cc", "#66635b", "#1a1a18", "#3d3b37", "#a09d94"),
}
SHEET = ("#ffffff", "#1a1a18")
BORDER = ("#e7e4db", "#2d2c29")
INK = ("#1b1a17", "#eceae4")
FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"
)
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
TITLE = 17
NOTE = 14.5
STEP = 14
PADDING = 14
ROUND = 9

# Drawn in a square of 20 pixels.
ICONS = {
    "terminal": "M1 3h18v14H1zM5 7l3 3-3 3M10 13h5",
    "clock": "M10 1a9 9 0 1 0 .01 0M10 5v5l3.5 2.5",
    "key": "M6 6a4 4 0 1 0 .01 0M9.5 8.5 19 8.5M15 8.5v4M18.5 8.5v3",
    "layers": "M10 2l8.5 4.5L10 11 1.5 6.5zM1.5 10.5 10 15l8.5-4.5M1.5 14 10 18.5 18.5 14",
    "tools": "M11 1 4 11.5h5L8 19l8-11h-5.5z",
    "globe": "M10 1a9 9 0 1 0 .01 0M1.5 10h17M10 1c-6 6-6 12 0 18M10 1c6 6 6 12 0 18",
    "chip": "M4 4h12v12H4zM8 8h4v4H8zM7 1v3M13 1v3M7 16v3M13 16v3M1 7h3M1 13h3M16 7h3M16 13h3",
    "route": "M4 2a2.5 2.5 0 1 0 .01 0M16 13a2.5 2.5 0 1 0 .01 0M6.5 4.5h6a3 3 0 0 1 0 5.5h-5a3 3 "
    "0 0 0 0 5.5h6",
    "check": "M10 1a9 9 0 1 0 .01 0M5.5 10.5l3 3 6-6.5",
}


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the tables of a source have in common."""

    tone: Tone = "plain"


class Box(Part, frozen=True, kw_only=True):
    """A box with a title, notes, and slots as small squares."""

    at: tuple[int, int]
    size: tuple[int, int]
    id: str = ""
    shape: Literal["box", "group", "cylinder", "stack", "text"] = "box"
    title: str = ""
    lines: tuple[str, ...] = ()
    code: str = ""
    """A last line with names of files, in a monospaced font."""
    icon: str = ""
    badge: str = ""
    """A number in a circle on the corner."""
    centred: bool = False
    slots: tuple[tuple[Tone, int], ...] = ()
    columns: int = 15

    @property
    def middle(self) -> Point:
        """Its centre."""
        return self.at[0] + self.size[0] / 2, self.at[1] + self.size[1] / 2

    def side(self, name: str, along: Point) -> Point:
        """The point of a side at the same height, or in the same column, as another point."""
        (x, y) = self.at
        (width, height) = self.size
        places = {"left": (x, along[1]), "right": (x + width, along[1]), "top": (along[0], y)}
        return places.get(name, (along[0], y + height))

    def covers(self, point: Point, name: str) -> bool:
        """Whether a straight line from a side can reach the height, or the column, of a point."""
        axis = int(name in {"left", "right"})
        return self.at[axis] + 6 <= point[axis] <= self.at[axis] + self.size[axis] - 6


class Arrow(Part, frozen=True, kw_only=True, rename={"from_": "from"}):
    """An arrow from a side of a box to a side of another: `from = "a.right"`."""

    from_: str
    to: str
    label: str = ""
    dashed: bool = False
    both: bool = False
    shift: tuple[int, int] = (0, 0)
    """How far the label is from its usual place."""


class Lane(Part, frozen=True, kw_only=True):
    """Someone who acts in a sequence."""

    id: str
    title: str
    note: str = ""
    ends: str = ""
    """The id of the step at which the lane ends, for a process that dies."""


class Step(Part, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A message from one lane to another, or a note over the lanes from one to another."""

    label: str
    from_: str
    to: str = ""
    id: str = ""
    note: bool = False
    dashed: bool = False
    badge: str = ""


class Diagram(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole source."""

    title: str
    description: str
    width: int = 720
    height: int = 0
    """Of a sequence, the height results from its steps."""
    box: tuple[Box, ...] = ()
    arrow: tuple[Arrow, ...] = ()
    lane: tuple[Lane, ...] = ()
    step: tuple[Step, ...] = ()


def text_width(text: str, size: float, is_bold: bool = False) -> float:
    """The width of a text in a wide font such as DejaVu Sans or Verdana."""
    narrow = set(" ijlt.,:;'|!()[]/-")
    wide = set("mwMW")
    ems = sum(
        0.37 if c in narrow else 0.9 if c in wide else 0.66 if c.isupper() or c.isdigit() else 0.6
        for c in text
    )
    return ems * size * (1.08 if is_bold else 1)


def text(at: Point, words: str, style: str, anchor: str = "start") -> str:
    """One line of text."""
    return (
        f'<text class="{style}" x="{at[0]:g}" y="{at[1]:g}" '
        f'text-anchor="{anchor}">{escape(words, quote=False)}</text>'
    )


def badge(at: Point, words: str, tone: Tone) -> str:
    """A number in a circle."""
    circle = f'<circle class="{tone} disc" cx="{at[0]:g}" cy="{at[1]:g}" r="13"/>'
    return circle + text((at[0], at[1] + 5), words, "number", "middle")


def outline(box: Box) -> Iterator[str]:
    """The shape of a box."""
    (x, y) = box.at
    (width, height) = box.size
    if box.shape == "text":
        return
    if box.shape == "cylinder":
        yield (
            f'<path class="{box.tone} box" d="M{x} {y + 9}a{width / 2:g} 9 0 0 1 {width} '
            f"0v{height - 18}"
            f'a{width / 2:g} 9 0 0 1 {-width} 0z"/>'
        )
        yield f'<path class="{box.tone} rim" d="M{x} {y + 9}a{width / 2:g} 9 0 0 0 {width} 0"/>'
        return
    kind = "group" if box.shape == "group" else "box"
    for offset in (12, 6, 0) if box.shape == "stack" else (0,):
        yield (
            f'<rect class="{box.tone} {kind}" x="{x + offset}" y="{y - offset}" width="{width}" '
            f'height="{height}" '
            f'rx="{ROUND + 5 * (kind == "group")}"/>'
        )


def draw_box(box: Box) -> Iterator[str]:
    """A box with all that is in it."""
    yield from outline(box)
    (x, y) = box.at
    (width, height) = box.size
    heading = (
        [(box.title, TITLE, f"{box.tone} title" if box.shape == "group" else "title")]
        if box.title
        else []
    )
    rows = (
        heading
        + [(line, NOTE, "note") for line in box.lines]
        + [(box.code, NOTE - 1.5, "code")] * bool(box.code)
    )
    alongside_icon = 28 if box.icon else 0
    below_icon = 28 if box.icon and len(box.lines) < 3 else 0
    for words, size, style in rows:
        room = (
            width
            - (0 if box.shape == "text" else 2 * PADDING)
            - (alongside_icon if "title" in style else below_icon)
        )
        if text_width(words, size, "title" in style) > room:
            raise ValueError(f"'{words}' is too wide for its box of {room} pixels")
    gap = 3 if box.title and len(rows) > 1 else 0
    needed = sum(size * 1.32 for _, size, _ in rows) + gap
    top = y + 16.0 if box.shape == "group" or box.slots else y + (height - needed) / 2
    top += 9 if box.shape == "cylinder" else 0
    left = x if box.shape == "text" else x + PADDING
    if needed > height:
        raise ValueError(f"'{box.title}' is too low for its text of {needed:g} pixels")
    if box.icon:
        scale = f'transform="translate({left} {top + 1:g})"'
        yield f'<path class="{box.tone} icon" {scale} d="{ICONS[box.icon]}"/>'
    for words, size, style in rows:
        start = left + (alongside_icon if "title" in style else below_icon)
        at = (x + width / 2, top + size) if box.centred else (start, top + size)
        yield text(at, words, style, "middle" if box.centred else "start")
        top += size * 1.32 + (gap if "title" in style else 0)
    for number, tone in enumerate([tone for tone, count in box.slots for _ in range(count)]):
        row, column = divmod(number, box.columns)
        pitch = (width - 2 * PADDING + 5) / box.columns
        place = f'x="{x + PADDING + column * pitch:g}" y="{top + 8 + row * pitch:g}"'
        yield (
            f'<rect class="{tone} slot" {place} width="{pitch - 5:g}" height="{pitch - 5:g}" '
            'rx="3"/>'
        )
    if box.badge:
        yield badge(
            (x + width - 20, y + (height / 2 if height < 70 else 21)),
            box.badge,
            "blue" if box.tone == "plain" else box.tone,
        )


def route(arrow: Arrow, boxes: dict[str, Box]) -> list[Point]:
    """The corners of an arrow: straight if one side can face the other, otherwise with right
    angles.
    """
    (first, out), (last, into) = (
        (boxes[name], side)
        for name, _, side in (end.partition(".") for end in (arrow.from_, arrow.to))
    )
    start = first.middle
    end = last.middle
    is_level = [side in {"left", "right"} for side in (out, into)]
    if is_level[0] == is_level[1]:
        if first.size[is_level[0]] > last.size[is_level[0]] and first.covers(end, out):
            start = end
        elif last.covers(start, into):
            end = start
    start = first.side(out, start)
    end = last.side(into, end)
    if is_level[0] != is_level[1]:
        return [start, (end[0], start[1]) if is_level[0] else (start[0], end[1]), end]
    axis = 0 if is_level[0] else 1
    if start[1 - axis] == end[1 - axis]:
        return [start, end]
    middle = (start[axis] + end[axis]) / 2
    corners = (
        [(middle, start[1]), (middle, end[1])]
        if axis == 0
        else [(start[0], middle), (end[0], middle)]
    )
    return [start, *corners, end]


def curve(points: Sequence[Point]) -> str:
    """A path through points, with round corners."""
    parts = [f"M{points[0][0]:g} {points[0][1]:g}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        near, far = (toward(corner, other, 10) for other in (before, after))
        parts.append(f"L{near[0]:g} {near[1]:g}Q{corner[0]:g} {corner[1]:g} {far[0]:g} {far[1]:g}")
    return "".join(parts) + f"L{points[-1][0]:g} {points[-1][1]:g}"


def toward(start: Point, end: Point, distance: float) -> Point:
    """The point at a distance from the start on the way to the end, at most half of the way."""
    length = max(abs(end[0] - start[0]) + abs(end[1] - start[1]), 1)
    part = min(distance / length, 0.5)
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def line(points: Sequence[Point], part: Arrow | Step, both: bool = False) -> str:
    """A line with its heads."""
    style = f"{part.tone} line{' dashed' if part.dashed else ''}"
    start = f' marker-start="url(#{part.tone}-head)"' if both else ""
    return f'<path class="{style}" d="{curve(points)}" marker-end="url(#{part.tone}-head)"{start}/>'


def draw_arrow(arrow: Arrow, boxes: dict[str, Box], edge: int) -> Iterator[str]:
    """An arrow and its label, next to the longest of its parts."""
    points = route(arrow, boxes)
    yield line(points, arrow, arrow.both)
    (x1, y1), (x2, y2) = max(
        pairwise(points),
        key=lambda ends: abs(ends[0][0] - ends[1][0]) + abs(ends[0][1] - ends[1][1]),
    )
    x = (x1 + x2) / 2 + arrow.shift[0]
    y = (y1 + y2) / 2 + arrow.shift[1]
    rows = arrow.label.split("\n") if arrow.label else []
    for number, words in enumerate(rows):
        if (
            x + (text_width(words, STEP) / 2 if y1 == y2 else text_width(words, STEP) + 10)
            > edge - 8
        ):
            raise ValueError(f"the label '{words}' leaves the sheet")
        if y1 == y2:
            yield text(
                (x, y - 8 - 18 * (len(rows) - 1 - number)), words, f"{arrow.tone} label", "middle"
            )
        else:
            yield text(
                (x + 10, y + 5 + 18 * (number - (len(rows) - 1) / 2)), words, f"{arrow.tone} label"
            )


def draw_sequence(diagram: Diagram) -> tuple[list[str], int]:
    """The lanes and steps of a sequence, and its height."""
    pitch = (diagram.width - 32) / len(diagram.lane)
    middle = {lane.id: 16 + pitch * (number + 0.5) for number, lane in enumerate(diagram.lane)}
    top = 96
    drawn = []
    ends = {}
    for step in diagram.step:
        rows = step.label.split("\n")
        height = 18 * len(rows)
        if step.note:
            left = middle[step.from_] - pitch / 2 + 8
            right = middle[step.to or step.from_] + pitch / 2 - 8
            words = max(text_width(row, STEP) for row in rows)
            if words > right - left - 16:
                raise ValueError(f"'{step.label}' is too wide for its lanes")
            place = f'x="{left:g}" y="{top}" width="{right - left:g}" height="{height + 16}" rx="7"'
            drawn.append(f'<rect class="{step.tone} box" {place}/>')
            drawn += [
                text(((left + right) / 2, top + 22 + 18 * n), row, f"{step.tone} step", "middle")
                for n, row in enumerate(rows)
            ]
            top += height + 32
            ends[step.id] = top - 16
            continue
        start = middle[step.from_]
        end = middle[step.to]
        away = 1 if end > start else -1
        if (words := max(text_width(row, STEP) for row in rows)) > abs(end - start) - 8:
            raise ValueError(
                f"'{step.label}' is too wide for its lanes: "
                f"{words:g} of {abs(end - start) - 8:g} pixels"
            )
        at = (start + end) / 2
        drawn += [
            text((at, top + 14 + 18 * n), row, f"{step.tone} step halo", "middle")
            for n, row in enumerate(rows)
        ]
        drawn.append(
            line([(start + 7 * away, top + height + 4), (end - 7 * away, top + height + 4)], step)
        )
        if step.badge:
            drawn.append(badge((start, top + height + 4), step.badge, step.tone))
        top += height + 24
        ends[step.id] = top - 20
    head: list[str] = []
    for lane in diagram.lane:
        x = middle[lane.id]
        bottom = ends[lane.ends] if lane.ends else top
        head.append(f'<path class="{lane.tone} life" d="M{x:g} 76V{bottom}"/>')
        if lane.ends:
            head.append(f'<path class="red line" d="M{x - 9:g} {bottom + 2}l18 18m0 -18l-18 18"/>')
        box = Box(
            at=(round(x - pitch / 2 + 8), 20), size=(round(pitch - 16), 56), tone=lane.tone, title=lane.title,  # noqa: E501 - one text, or a row of a table
            lines=(lane.note,) if lane.note else (), centred=True,
        )  # fmt: skip
        head += draw_box(box)
    return [*head, *drawn], top + 12


def style(tones: Sequence[Tone]) -> str:
    """The style sheet: fixed parts, then the colours of both schemes."""

    def colours(scheme: int) -> str:
        rules = [
            f".sheet{{fill:{SHEET[scheme]};stroke:{BORDER[scheme]}}}.title{{fill:{INK[scheme]}}}"
        ]
        rules.append(
            f".note,.code{{fill:{TONES['plain'][2 + 3 * scheme]}}}.number{{fill:{SHEET[scheme]}}}"
        )
        rules.append(f".label,.halo{{stroke:{SHEET[scheme]}}}")
        for tone in tones:
            fill, stroke, ink = TONES[tone][3 * scheme : 3 * scheme + 3]
            rules.append(
                f".{tone}.box,.{tone}.group{{fill:{fill};stroke:{stroke}}}"
                f".{tone}.slot{{fill:{fill if tone == 'plain' else stroke};stroke:{stroke}}}"
                f".{tone}.line,.{tone}.rim,"
                f".{tone}.life{{stroke:{stroke}}}.{tone}.icon{{stroke:{ink}}}"
                f".{tone}.disc,.{tone}.head{{fill:{stroke}}}.{tone}.label,.{tone}.step,"
                f".{tone}.title{{fill:{ink}}}"
            )
        return "\n".join(rules)

    fixed = (
        f"text{{font-family:{FONT}}}.title{{font-size:{TITLE}px;"
        f"font-weight:650}}.note{{font-size:{NOTE}px}}\n"
        f".code{{font-family:{MONO};font-size:{NOTE - 1.5}px}}.number{{font-size:14px;"
        f"font-weight:700}}\n"
        f".label,.step{{font-size:{STEP}px;font-weight:500}}"
        ".label,.halo{paint-order:stroke;stroke-width:5px;stroke-linejoin:round}\n"
        ".box,.group{stroke-width:1.5}.slot{stroke-width:1.2}.line,.rim,.icon{fill:none;"
        "stroke-width:1.8}"
        ".icon{stroke-linecap:round;stroke-linejoin:round}\n"
        ".dashed{stroke-dasharray:6 5}.life{stroke-width:1.5;stroke-dasharray:2 "
        "5}.group{fill-opacity:.55}"
    )
    return f"{fixed}\n{colours(0)}\n@media (prefers-color-scheme: dark){{\n{colours(1)}\n}}"


def svg(diagram: Diagram) -> str:
    """Return a diagram as SVG."""
    boxes = {box.id: box for box in diagram.box if box.id}
    body, height = draw_sequence(diagram) if diagram.lane else ([], diagram.height)
    groups = [box for box in diagram.box if box.shape == "group"]
    body += [part for box in groups for part in draw_box(box)]
    body += [part for arrow in diagram.arrow for part in draw_arrow(arrow, boxes, diagram.width)]
    body += [part for box in diagram.box if box not in groups for part in draw_box(box)]
    used = " ".join(body)
    tones = [tone for tone in TONES if f'class="{tone} ' in used]
    heads = [
        f'<marker id="{tone}-head" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="11" '
        'markerHeight="11" '
        f'markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
        f'<path class="{tone} head" d="M0 .5 10 5 0 9.5z"/></marker>'
        for tone in tones
        if f"#{tone}-head" in used
    ]
    size = f'viewBox="0 0 {diagram.width} {height}" width="{diagram.width}" height="{height}"'
    sheet = (
        f'<rect class="sheet" x=".5" y=".5" width="{diagram.width - 1}" height="{height - 1}" '
        'rx="12"/>'
    )
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title '
            'description">',
            f'<title id="title">{escape(diagram.title)}</title>',
            f'<desc id="description">{escape(" ".join(diagram.description.split()))}</desc>',
            f"<style>\n{style(tones)}\n</style>",
            f"<defs>{''.join(heads)}</defs>",
            sheet,
            *body,
            "</svg>\n",
        )
    )


def load(source: Path) -> Diagram:
    """Read a source."""
    return msgspec.convert(tomllib.loads(source.read_text(encoding="utf-8")), Diagram)


def main(names: Sequence[str]) -> None:
    """Write the named diagrams, or all."""
    for source in sorted(SOURCES.glob("*.toml")):
        if not names or source.stem in names:
            try:
                drawing = svg(load(source))
            except ValueError as problem:
                sys.exit(f"{source.relative_to(ROOT)}: {problem}")
            (IMAGES / f"{source.stem}.svg").write_text(drawing, encoding="utf-8")
            print(f"docs/images/{source.stem}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
