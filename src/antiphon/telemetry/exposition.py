"""Metrics as text: Prometheus's text format, version 0.0.4.

Source: prometheus.io/docs/instrumenting/exposition_formats.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from antiphon.telemetry.kinds import Family, Sample

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

PIECE = 200
"""Samples in a piece of the text. A piece of histograms takes about 2 ms."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def exposition(counted: Iterable[Family]) -> Iterator[str]:
    """Yield families as text, in pieces.

    Families with one name, from several processes, are merged.
    """
    merged: dict[str, list[Family]] = {}
    for family in counted:
        merged.setdefault(family.name, []).append(family)
    for parts in merged.values():
        yield _head(parts[0])
        for part in parts:
            for start in range(0, len(part.samples), PIECE):
                yield "".join(map(_lines_of(part), part.samples[start : start + PIECE]))


def _head(family: Family) -> str:
    name = family.name + "_total" if family.kind == "counter" else family.name
    text = family.text.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {text}\n# TYPE {name} {family.kind}\n"


def _lines_of(family: Family) -> Callable[[Sample], str]:
    """Return the function that writes a sample of this family."""
    if family.kind == "histogram":
        edges = [*map(str, family.bounds), "+Inf"]
        return lambda sample: _histogram(family.name, edges, sample)
    name = family.name + "_total" if family.kind == "counter" else family.name
    return lambda sample: f"{name}{_braced(_labels(sample))} {sample.value!r}\n"


def _histogram(name: str, edges: list[str], sample: Sample) -> str:
    labels = _labels(sample)
    counts = list(accumulate(sample.counts))
    comma = "," if labels else ""
    lines = [
        f'{name}_bucket{{{labels}{comma}le="{edge}"}} {count}\n'
        for edge, count in zip(edges, counts, strict=True)
    ]
    whole = _braced(labels)
    return "".join(
        [*lines, f"{name}_count{whole} {counts[-1]}\n", f"{name}_sum{whole} {sample.value!r}\n"]
    )


def _labels(sample: Sample) -> str:
    return ",".join(
        f'{name}="{value.translate(_ESCAPES)}"' for name, value in sample.labels.items()
    )


def _braced(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""
