"""Figures of responses as `GET /admin/v1/figures` returns them."""

from typing import Any

from antiphon.console.summaries import in_units
from antiphon.storage.records.figures import Figures, FiguresFound, FiguresQuery, quantile, total_of


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
    if found.partial_since is not None:
        displayed |= {"partial": True, "complete_since": found.partial_since}
    return displayed


def _largest_first(found: FiguresFound) -> list[tuple[str, Figures]]:
    return sorted(found.groups.items(), key=lambda pair: pair[1].responses, reverse=True)


def _group(by: str, value: str, one: Figures, names: dict[str, str]) -> dict[str, Any]:
    named = {"name": names.get(value)} if by == "key" else {}
    return {"by": by, "value": value, **named, **_figures(one)}


def _figures(one: Figures) -> dict[str, Any]:
    return {
        "responses": one.responses,
        "by_status": one.by_status,
        "input_tokens": one.input_tokens,
        "cached_tokens": one.cached_tokens,
        "output_tokens": one.output_tokens,
        "reasoning_tokens": one.reasoning_tokens,
        "cost": in_units(one.cost),
        "first_token_ms": _quantiles(one.first),
        "duration_ms": _quantiles(one.took),
    }


def _quantiles(counts: list[int]) -> dict[str, int | None] | None:
    if not any(counts):
        return None
    return {"p50": quantile(counts, 0.5), "p95": quantile(counts, 0.95)}
