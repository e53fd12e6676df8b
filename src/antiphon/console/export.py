"""The filtered list of responses as a file, CSV or JSON Lines, made page by page."""

import csv
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Any, Literal, NamedTuple, Protocol

from msgspec.json import encode
from msgspec.structs import replace

from antiphon.console.summaries import KeyNames, summary
from antiphon.query.conditions import Filters
from antiphon.storage.operations import facts_names, facts_page
from antiphon.storage.records.facts import FactsQuery
from antiphon.storage.store import Store

Format = Literal["csv", "jsonl"]
Row = Mapping[str, Any]
"""A response as the console's list shows it."""

ROWS = 200
"""Responses of one page. Encoding them takes about four milliseconds."""

MOST_ROWS = 100_000
"""Responses of one file."""

MOST_READ = 10_000
"""Rows that one page compares with filters. Reading them takes about ten milliseconds."""

CUT = "export.cut"
"""The `object` of the last line of a file, and the `id` of its last row, that lacks responses."""

LIMIT = (
    f"Only the first {MOST_ROWS:,} responses are in this file. Narrow the filter, or continue with "
    "`until:` the start of the last response."
)
EXPIRED = "The responses after the last one expired during the export."

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""The first characters that make a spreadsheet evaluate a text."""

COLUMNS = (
    *("id", "request_id", "created_at", "status", "model", "served_model", "backend", "tenant"),
    *("api_key_id", "api_key_name", "stream", "background", "cached", "tools", "calls", "attempts"),
    *("duration_ms", "queue_ms", "first_token_ms", "input_tokens", "cached_tokens"),
    *("output_tokens", "reasoning_tokens", "usage_is_estimated", "cost"),
    *("previous_response_id", "conversation_id", "error_code", "error_message", "input", "output"),
)
"""The columns of a CSV file, by the names of the fields of the list."""


class ExportPart(NamedTuple):
    """Some lines of a file, and the tenants of which they have content."""

    body: bytes
    tenants: frozenset[str]


class Encoding(Protocol):
    """How a file has its responses."""

    head: bytes

    def rows(self, rows: Sequence[Row]) -> bytes:
        """Return the lines of responses."""
        ...

    def cut(self, message: str) -> bytes:
        """Return the last line of a file that lacks responses."""
        ...


class JsonLines:
    """One object of the list on each line."""

    head = b""

    def rows(self, rows: Sequence[Row]) -> bytes:
        """See `Encoding`."""
        return b"".join([encode(row) + b"\n" for row in rows])

    def cut(self, message: str) -> bytes:
        """See `Encoding`."""
        return encode({"object": CUT, "message": message}) + b"\n"


class Csv:
    """One row for each response, after a row with the names of the columns (RFC 4180)."""

    def __init__(self, currency: str) -> None:
        titles = [f"cost ({currency})" if name == "cost" else name for name in COLUMNS]
        self.head = _lines([titles])

    def rows(self, rows: Sequence[Row]) -> bytes:
        """See `Encoding`."""
        return _csv([_flat(row) for row in rows])

    def cut(self, message: str) -> bytes:
        """See `Encoding`."""
        return _csv([{"id": CUT, "error_message": message}])


def encoding_of(form: Format, currency: str) -> Encoding:
    """Return how a file of this format has its responses, and their cost in this currency."""
    return Csv(currency) if form == "csv" else JsonLines()


async def export(
    store: Store, names: KeyNames, tenant: str | None, filters: Filters, encoding: Encoding
) -> AsyncGenerator[ExportPart, None]:
    """Yield the lines of all ended and queued responses that match, newest first.

    One page at a time is read, and only when the previous one was taken. Raises `StoreError`.
    """
    filters = await store.read(facts_names.resolve, tenant, filters)
    filters = replace(filters, sort="newest")  # each page of another order sorts all of them again
    after: str | None = None
    left = MOST_ROWS
    head = encoding.head
    while True:
        query = FactsQuery(min(ROWS, left), after, filters=filters, most_read=MOST_READ)
        page = await store.read(facts_page.page, tenant, query)
        known = await names.load([one.key_id for one in page.facts])
        rows = [summary(one, known) for one in page.facts]
        left -= len(rows)
        has_more = page.has_more or bool(page.read_to)
        cut = EXPIRED if page.unknown else LIMIT if has_more and not left else ""
        body = head + encoding.rows(rows) + (encoding.cut(cut) if cut else b"")
        if body:
            tenants = frozenset(row["tenant"] for row in rows if row["input"] or row["output"])
            yield ExportPart(body, tenants)
        if cut or not has_more:
            return
        head = b""
        after = page.read_to or page.facts[-1].id


def _csv(rows: Sequence[Row]) -> bytes:
    return _lines([[_cell(row.get(name)) for name in COLUMNS] for row in rows])


def _lines(rows: Sequence[Sequence[Any]]) -> bytes:
    text = StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _flat(row: Row) -> Row:
    """Return a response with the fields that a row needs at its top."""
    usage = row["usage"]
    return {
        **row,
        "created_at": datetime.fromtimestamp(row["started_ms"] / 1000, UTC).isoformat(
            timespec="milliseconds"
        ),
        "tools": " ".join(row["tools"]),
        "input_tokens": usage["input_tokens"],
        "cached_tokens": usage["input_tokens_details"]["cached_tokens"],
        "output_tokens": usage["output_tokens"],
        "reasoning_tokens": usage["output_tokens_details"]["reasoning_tokens"],
    }


def _cell(value: Any) -> Any:
    """Return a value as a cell, which no spreadsheet evaluates."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULAS) else value
    return str(value).lower() if isinstance(value, bool) else value
