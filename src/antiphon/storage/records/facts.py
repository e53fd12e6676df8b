"""Facts about responses: one narrow row each, without bodies, and the spans of its timeline."""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.json import encode

from antiphon.protocol.response_filters import Filters

STREAM, BACKGROUND, WEBSOCKET, CACHED, STORED, DELETED, SUMMED, HAS_MESSAGE = (1 << bit for bit in range(8))
"""Bits of `Facts.flags`. `HAS_MESSAGE`: the response failed, and `output` is the message of its error."""

FLAGS = {"background": BACKGROUND, "cached": CACHED, "stored": STORED, "stream": STREAM, "websocket": WEBSOCKET}
"""The filters for a property, and its bit."""

TEXT_FIELDS = {
    "backend": "backend",
    "conversation": "conversation_id",
    "error": "error",
    "key": "key_id",
    "model": "model",
    "served": "served_model",
    "status": "status",
}
"""The filters for a text, and its field of `Facts`."""

WORDS = 160
"""Characters that are kept of the input and of the output of a stored response."""


MOST_READ = 50_000
"""Rows that one list compares with filters, so that no list takes longer than some 50 ms."""


def pair_of(name: str, value: str) -> str:
    """Return a pair of metadata as `Facts.tags` has it: a digest of 16 characters and a semicolon."""
    return f"{sha256(encode((name, value))).hexdigest()[:16]};"


LATE = 60_000
"""Milliseconds after which a response that ends has the flag `SUMMED`: it adds itself to the sums of its minute."""


class Facts(Struct, frozen=True, gc=False):
    """What is known of one response. Times are in milliseconds, `began` and `ended` since the epoch.

    Texts are empty and numbers 0 where there is nothing; None is what is not known yet.
    """

    id: str
    tenant: str
    began: int
    ended: int | None
    status: str
    model: str
    """The model that the client requested."""
    served_model: str
    """The model that answered."""
    backend: str
    key_id: str
    flags: int
    tools: str
    """The tools that were called, each between spaces: ` mcp tracker.close_issue `."""
    queued: int | None
    """From `began` until the first backend was called."""
    first: int | None
    """From `began` to the first byte of the model's answer."""
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    calls: int
    """Calls of models."""
    attempts: int
    """Times that a background response was begun; 1 for any other."""
    error: str
    """The error's code."""
    previous_response_id: str
    conversation_id: str
    request_bytes: int
    tags: str
    """A digest of each pair of the metadata (`pair_of`), so that lists can be filtered by it."""
    input: str
    """The beginning of the newest user message. Empty for a response that is not stored."""
    output: str
    """The beginning of the text of the output, or of the error's message. Empty for a response that is not stored."""
    cost: int | None
    """Nano-units; None where the model has no price."""
    spans: bytes = b""
    """The timeline as JSON: when it began, its spans and the items of its output; empty where nothing was called."""
    bodies: bytes = b""
    """The requests to backends as a JSON list, compressed (zstd); empty where they are not kept."""


class FactsQuery(Struct, frozen=True, gc=False):
    """Which part of a tenant's facts to read: at most `limit` rows, newest first where `descending`.

    `after` and `before` are ids of responses, in the requested order.
    """

    limit: int
    after: str | None = None
    before: str | None = None
    descending: bool = True
    filters: Filters = Filters()
    most_read: int = MOST_READ
    """Rows that are compared with the filters."""


class FactsPage(Struct, frozen=True, gc=False):
    """A part of a list of facts, without their spans. `unknown` is `after` or `before` where it names no row.

    `read_to` is the id of the last row that was compared, where there may be more matches behind it than were looked
    for; a list continues after it.
    """

    facts: Sequence[Facts] = ()
    has_more: bool = False
    unknown: str = ""
    read_to: str = ""


class FactsFamily(Struct, frozen=True, gc=False):
    """The facts of a response with its spans, and those of its chain: the oldest parent first, and its children."""

    facts: Facts
    parents: Sequence[Facts] = ()
    children: Sequence[Facts] = ()
