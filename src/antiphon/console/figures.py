"""Figures of responses as `GET /admin/v1/figures` returns them."""

from typing import Any

from antiphon.console.summaries import in_units
from antiphon.storage.records.figures import (
    Figures,
    FiguresFound,
    FiguresQuery,
    others_of,
    quantile,
    total_of,
)

COUNTED = (
    "responses",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost",
)
"""The fields of a span of a series."""


def figures_object(
    query: FiguresQuery, found: FiguresFound, names: dict[str, str]
) -> dict[str, Any]:
    """Return figures as JSON. Spans without responses are omitted."""
    spans = sorted(found.spans.items())
    displayed: dict[str, Any] = {
        "object": "figures",
        "since": query.since,
        "until": query.until,
        "step": query.step,
        "totals": _figures(total_of([one for _, one in spans])),
        "buckets": [{"time": int(time), **_figures(one)} for time, one in spans],
    }
    if query.by:
        displayed["groups"] = [
            _group(query.by, value, one, names) for value, one in _largest_first(found)
        ]
    if found.rest is not None:
        displayed["rest"] = _figures(found.rest)
    if query.series:
        displayed["series"] = _series(query.by, found, names)
    if found.partial_since is not None:
        displayed |= {"partial": True, "complete_since": found.partial_since}
    return displayed


def _largest_first(found: FiguresFound) -> list[tuple[str, Figures]]:
    return sorted(found.groups.items(), key=lambda pair: pair[1].responses, reverse=True)


def _group(by: str, value: str, one: Figures, names: dict[str, str]) -> dict[str, Any]:
    return {**_label(by, value, names), **_figures(one)}


def _label(by: str, value: str | None, names: dict[str, str]) -> dict[str, Any]:
    named = {"name": names.get(value or "")} if by == "key" else {}
    return {"by": by, "value": value, **named}


def _series(by: str, found: FiguresFound, names: dict[str, str]) -> list[dict[str, Any]]:
    """Return the most expensive groups over time, then all others together, if there are any. Their
    sums are those of all responses.
    """
    spans: list[tuple[str | None, dict[int, Figures]]] = [*found.series.items()]
    if others := others_of(found):
        spans.append((None, others))
    return [
        {**_label(by, value, names), "buckets": [_counts(*one) for one in sorted(of_group.items())]}
        for value, of_group in spans
    ]


def _counts(time: int, one: Figures) -> dict[str, Any]:
    """Return the counts of a span; a series has no times."""
    counts = _figures(one)
    return {"time": int(time)} | {name: counts[name] for name in COUNTED}


def _figures(one: Figures) -> dict[str, Any]:
    return {
        "responses": one.responses,
        "by_status": one.by_status,
        "input_tokens": one.input_tokens,
        "cached_tokens": one.cached_tokens,
        "output_tokens": one.output_tokens,
        "reasoning_tokens": one.reasoning_tokens,
        "cost": in_units(one.cost),
        "streamed_tokens": one.streamed_tokens,
        "streamed_ms": one.streamed_ms,
        "first_token_ms": _quantiles(one.first),
        "duration_ms": _quantiles(one.took),
    }


def _quantiles(counts: list[int]) -> dict[str, int | None] | None:
    if not any(counts):
        return None
    return {"p50": quantile(counts, 0.5), "p95": quantile(counts, 0.95)}
