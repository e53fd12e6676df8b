"""Facts about responses: one narrow row per response, without bodies, and the spans of its
timeline.
"""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.json import encode

from antiphon.query.conditions import Filters

STREAM, BACKGROUND, WEBSOCKET, CACHED, STORED, DELETED, SUMMED, HAS_MESSAGE = (
    1 << bit for bit in range(8)
)
"""Bits of `Facts.flags`. `HAS_MESSAGE`: the response failed, and `output` is its error message."""

WINDOWS = {"2h": 1 << 8, "8h": 1 << 9}
"""Bits of `Facts.flags`, by the `completion_window` of a deferred background response."""

CREDENTIALS = {"authorization": 1 << 10, "headers": 1 << 11}
"""Bits of `Facts.flags`, by the field of an `mcp` tool of the request that had a value. The values
themselves are not stored.
"""

ESTIMATED = 1 << 12
"""Bit of `Facts.flags`: a call had no reported tokens, and they were counted from its texts."""

OWN_ID = 1 << 13
"""Bit of `Facts.flags`: the id of the response has other digits than that of its request, as with
WebSocket messages and further choices of a chat completion.
"""

AGENT = 1 << 14
"""Bit of `Facts.flags`: an agent computes the response, and its steps are stored while it is."""

FLAGS = {
    "background": BACKGROUND,
    "cached": CACHED,
    "stored": STORED,
    "stream": STREAM,
    "websocket": WEBSOCKET,
}
"""The boolean filters, and their bits."""

TEXT_FIELDS = {
    "backend": "backend",
    "conversation": "conversation_id",
    "error": "error",
    "id": "id",
    "key": "key_id",
    "model": "model",
    "served": "served_model",
    "status": "status",
    "tenant": "tenant",
}
"""The text filters, and their fields of `Facts`."""

WORDS = 160
"""Number of characters of the input and of the output of a stored response that facts include."""


MOST_READ = 25_000
"""Maximum number of rows that one list compares with filters, or sorts, and that figures without
sums add up: 20 ms of a processor for a list, and 100 ms for figures.
"""


def pair_of(name: str, value: str) -> str:
    """Return a metadata pair as `Facts.tags` stores it: a digest of 16 characters and a
    semicolon.
    """
    return f"{sha256(encode((name, value))).hexdigest()[:16]};"


def tool_of(name: str) -> str:
    """Return the text that `Facts.tools` includes if a called tool has this name, or this beginning
    if the name ends with `*`. A space of a name is stored as `_`.
    """
    name = "_".join(name.split())
    return f" {name[:-1]}" if name.endswith("*") else f" {name} "


LATE = 60_000
"""Milliseconds after which an ending response has the flag `SUMMED`: it adds itself to the sums of
its minute.
"""


class Facts(Struct, frozen=True, gc=False):
    """Facts about one response.

    Times are in milliseconds; `began` and `ended` count from the epoch.

    An absent text is empty and an absent number is 0; None means that the value is not yet known.
    """

    id: str
    tenant: str
    began: int
    ended: int | None
    status: str
    model: str
    """The requested model."""
    served_model: str
    """The model that generated the response."""
    backend: str
    """The backend that was called last; empty if none was called."""
    key_id: str
    flags: int
    tools: str
    """The called tools, each between spaces: ` mcp tracker.close_issue `."""
    queued: int | None
    """Time from `began` to the first call of a backend."""
    first: int | None
    """Time from `began` to the first byte of the model's output. None for a response that was not
    streamed.
    """
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    calls: int
    """Number of model calls."""
    attempts: int
    """Number of attempts to run a background response; 1 for any other response."""
    error: str
    """The error code."""
    previous_response_id: str
    conversation_id: str
    request_bytes: int
    tags: str
    """A digest of each metadata pair (`pair_of`), so that lists can filter by it."""
    input: str
    """The beginning of the newest user message. Empty if the response is not stored."""
    output: str
    """The beginning of the output text, or of the error message. Empty if the response is not
    stored.
    """
    cost: int | None
    """In nano-units; None if the model has no price."""
    spans: bytes = b""
    """The timeline as JSON: its start time, its spans and its output items. Empty if no model or
    tool was called.
    """
    bodies: bytes = b""
    """The requests to backends as a JSON list, compressed with zstd. Empty if they are not
    stored.
    """


class FactsQuery(Struct, frozen=True, gc=False):
    """Which of a tenant's facts to read: up to `limit` rows, newest first if `descending`.

    `after` and `before` are ids of responses, in the requested order.
    """

    limit: int
    after: str | None = None
    before: str | None = None
    descending: bool = True
    filters: Filters = Filters()
    most_read: int = MOST_READ
    """Maximum number of rows to compare with the filters, or to sort."""


class FactsPage(Struct, frozen=True, gc=False):
    """One page of facts, without their spans.

    `unknown` is the value of `after` or `before` that is not in the list.

    If the search stopped before the end of the list, `read_to` is the id of the last compared row,
    and the next page starts after it.

    If there are too many rows to sort, there is no page, and `sortable_since` is the time
    (milliseconds) since which they are few enough.
    """

    facts: Sequence[Facts] = ()
    has_more: bool = False
    unknown: str = ""
    read_to: str = ""
    sortable_since: int | None = None


class FactsFamily(Struct, frozen=True, gc=False):
    """The facts of a response with its spans, and the facts of its chain: parents from the oldest,
    children, and siblings, which are the other children of its parent.
    """

    facts: Facts
    has_content: bool = False
    """Whether the store has the response itself, with its input and output."""
    parents: Sequence[Facts] = ()
    children: Sequence[Facts] = ()
    siblings: Sequence[Facts] = ()
    runs_here: bool = False
    """Whether this process runs it, and its facts have its calls until now."""
