"""One response in detail: its timeline, notes on unusual events, and its chain."""

import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Literal

from antiphon.console.summaries import summary
from antiphon.storage.records.facts import (
    AGENT,
    BACKGROUND,
    CACHED,
    DELETED,
    ESTIMATED,
    HAS_MESSAGE,
    STORED,
    STREAM,
    Facts,
    FactsFamily,
)
from antiphon.storage.records.tenants import Delivery

Span = dict[str, Any]

Body = Literal["stored", "not_stored", "pending", "failed_before", "expired"]
"""`not_stored`: its request had `store: false`. `pending`: it is stored when it ends.
`failed_before`: it ended before anything was stored.
"""


def details(
    family: FactsFamily, names: dict[str, str], retention: int, undelivered: Sequence[Delivery] = ()
) -> dict[str, Any]:
    """Return a response as `GET /admin/v1/responses/{id}` shows it.

    `retention` is how many seconds it is kept.

    `undelivered` has the waiting and failed webhook deliveries about its end.
    """
    facts = family.facts
    started, spans, items, adjusted = _timeline(facts)
    body = _body(family)
    own = summary(facts, names)
    return {
        "object": "response.details",
        "summary": own,
        "request_id": own["request_id"],
        "timeline": {"started_ms": started, "spans": spans, "items": items},
        "notes": [
            {"code": code, "text": text}
            for code, text in (
                *_waits(family, spans),
                *_notes(facts, spans, adjusted, undelivered),
            )
        ],
        "parents": [summary(one, names) for one in family.parents],
        "children": [summary(one, names) for one in family.children],
        "siblings": [summary(one, names) for one in family.siblings],
        "kept_until": facts.began // 1000 + retention,
        "body": body,
        "has_body": body == "stored",
        "has_steps": facts.flags & (AGENT | DELETED) == AGENT,
        "has_events": bool(facts.flags & (BACKGROUND | AGENT) and facts.flags & STREAM),
    }


def _body(family: FactsFamily) -> Body:
    """Return whether the input and the output are stored, or why they are not."""
    facts = family.facts
    if not facts.flags & STORED:
        return "not_stored"
    if family.has_content:
        return "stored"
    if facts.ended is None:
        return "pending"
    return "failed_before" if facts.status in {"failed", "cancelled"} else "expired"


def _timeline(facts: Facts) -> tuple[int, list[Span], list[Span], list[str]]:
    """Return the start of the timeline in milliseconds since the epoch, its spans, the output
    items, and adjustments.

    Times of spans and items are in microseconds from this start. Adjustments are what the backend
    was sent differently than the client wrote it.
    """
    if not facts.spans:
        return facts.began, [], [], []
    began, rows = json.loads(facts.spans)
    spans = [
        {
            "kind": kind,
            "name": name,
            "start_us": start,
            "first_us": first,
            "end_us": end,
            "error": error or None,
        }
        for kind, name, start, end, first, error in rows
        if kind not in {"item", "adjusted"}
    ]
    adjusted = [name for kind, name, *_ in rows if kind == "adjusted"]
    items = [
        {"type": name, "start_us": start, "end_us": end}
        for kind, name, start, end, *_ in rows
        if kind == "item"
    ]
    return began, spans, items, adjusted


def _waits(family: FactsFamily, spans: list[Span]) -> list[tuple[str, str]]:
    """Return a note on what a response waits for that has not ended."""
    facts = family.facts
    if facts.ended is not None:
        return []
    if family.runs_here:
        return [("waits", _waits_for([span for span in spans if span["end_us"] is None]))]
    what = "worker" if facts.flags & AGENT else "server process"
    if facts.status == "queued":
        return [("waits", f"It waits for a {what} with a free slot.")]
    return [("waits", f"Another {what} runs it. Its calls appear here when it has ended.")]


def _waits_for(running: list[Span]) -> str:
    """Return what a response waits for, by its calls that have not ended."""
    if not running:
        return "No backend and no tool is called at this moment."
    span = running[-1]
    if span["kind"] == "tool":
        return f"It waits for the tool '{span['name']}'."
    if span["first_us"] is None:
        return f"It waits for backend '{span['name']}', which has not sent anything yet."
    return f"Backend '{span['name']}' is sending the output."


def _notes(
    facts: Facts, spans: list[Span], adjusted: list[str], undelivered: Sequence[Delivery]
) -> list[tuple[str, str]]:
    """Return notes on what was unusual about a response, as codes and sentences."""
    notes = _failures([span for span in spans if span["kind"] == "call"])
    notes += [
        ("tool_failed", f"The tool '{span['name']}' failed: {span['error']}.")
        for span in spans
        if _failed(span)
    ]
    if adjusted:
        names = ", ".join(adjusted)
        notes.append(
            (
                "adjusted",
                f"The backend was sent these differently than the client wrote them: {names}.",
            )
        )
    if facts.flags & CACHED:
        notes.append(("cached", "The response was returned from the cache. No model was called."))
    if facts.flags & ESTIMATED:
        notes.append(
            (
                "usage_estimated",
                "The backend did not report the tokens of each call. Antiphon counted the others "
                "in the texts, so tokens and cost are estimates.",
            )
        )
    if facts.attempts > 1:
        what = "worker" if facts.flags & AGENT else "server"
        notes.append(
            (
                "taken_over",
                f"It was started {facts.attempts} times, because a {what} stopped during it.",
            )
        )
    if facts.queued is not None and facts.queued >= 1_000:
        notes.append(
            ("queued", f"It waited {facts.queued / 1000:.1f} s before a backend was called.")
        )
    if facts.status == "cancelled" and not facts.flags & BACKGROUND:
        notes.append(("disconnected", "The client disconnected before the response was complete."))
    if facts.error:
        message = f": {facts.output}" if facts.flags & HAS_MESSAGE else "."
        notes.append(("error", f"It ended with the error '{facts.error}'{message}"))
    notes += [_delivery_note(one) for one in undelivered]
    if not facts.flags & STORED:
        notes.append(
            ("not_stored", "The request had `store: false`, so its input and output were not kept.")
        )
    return notes


def _delivery_note(delivery: Delivery) -> tuple[str, str]:
    tries = f"{delivery.attempts} {'attempt' if delivery.attempts == 1 else 'attempts'}"
    why = f" Last error: {delivery.last_error}" if delivery.last_error else ""
    if delivery.failed_at is not None:
        return (
            "webhook_failed",
            f"The webhook '{delivery.endpoint.name}' was not delivered after {tries}.{why}",
        )
    return (
        "webhook_pending",
        f"The webhook '{delivery.endpoint.name}' is not yet delivered: {tries} so far.{why}",
    )


def _failed(span: Span) -> bool:
    return bool(span["kind"] == "tool" and span["error"])


def _failures(calls: list[Span]) -> list[tuple[str, str]]:
    """Return a note on each failed call of a backend, with the next call."""
    notes = []
    for call, following in zip_longest(calls, calls[1:]):
        if not call["error"]:
            continue
        failed = f"Backend '{call['name']}' failed: {call['error']}."
        if following is None:
            notes.append(("backend_failed", failed))
        elif following["name"] == call["name"]:
            notes.append(("retry", f"{failed} It was called again."))
        else:
            notes.append(
                ("failover", f"{failed} Backend '{following['name']}' was called instead.")
            )
    return notes
