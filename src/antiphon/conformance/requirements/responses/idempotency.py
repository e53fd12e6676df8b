"""Requests that are sent again."""

from antiphon.conformance.requirement import Table, may, should

TABLE: Table = (
    may(
        "responses:idempotency:same",
        "spec 14",
        "The same request with the same `Idempotency-Key` gives the same response.",
    ),
    may(
        "responses:idempotency:streamed",
        "spec 14",
        "A stream that is asked for again with its `Idempotency-Key` is the same, event by event.",
    ),
    may("responses:idempotency:other-body", "http", "Another request with a key that was used is refused with 4xx."),
    should("responses:idempotency:other-key", "spec 14", "The same request with another key gives another response."),
)
