"""What happens to responses, as metrics, traces and the log receive it: one record of each, filled in as it is made."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from antiphon.errors import AntiphonError
from antiphon.protocol.items.content import Item
from antiphon.protocol.response import Response
from antiphon.protocol.tool_bindings import Kind
from antiphon.translation.wire import Finish
from antiphon.translation.writer import Note
from antiphon.upstream.backend_state import Target

Operation = Literal["chat", "embeddings", "images"]

CacheStatus = Literal["hit", "miss"]


class Span(Struct, eq=False):
    """One call of a model or use of a tool, in the timeline of a response. Times are of the monotonic clock."""

    kind: Literal["call", "tool"]
    name: str
    """The backend's, as clients see it, or the tool's."""
    began: float
    first: float | None = None
    """When the first byte of the answer came."""
    ended: float | None = None
    error: str = ""
    """The error's code."""
    message: str = ""
    """The error's text, as clients see it."""
    body: bytes = b""
    """What the backend received; empty for a tool, and where it is not kept."""


class ResponseRecord(Struct, eq=False):
    """One response. It is handed over when the response begins, and again when it has ended."""

    response: Response
    """As it stood when the record was handed over; in the end it is final and durable, or was given up."""
    target: Target
    """The model and backend that are called, or that answered."""
    output: Callable[[], Sequence[Item]]
    """Returns the items that are done."""
    is_stream: bool = False
    is_background: bool = False
    is_resumed: bool = False
    """An earlier attempt began it."""
    ignored_tools: Sequence[str] = ()
    """Types of tools that the model is not offered, since only a server can run them."""
    began: float = 0.0
    """When it was begun, in seconds of the monotonic clock."""
    model: str = ""
    """The model that was asked, by the name that clients know."""
    cache: CacheStatus | None = None
    """What the cache was to it; None where the cache has no part in it."""
    notes: Sequence[Note] = ()
    """What was wrong in what the model said, and what was done about it."""
    skipped_compactions: int = 0
    """Times that the context was too long for `compact_threshold`, and a compaction would not have helped."""
    tenant: str = ""
    """The tenant that it is made for; empty without an API key."""
    spans: list[Span] = []
    """What it waited for, in order; empty where it is not timed."""
    outcome: str = ""
    """Its status in the end, `queued` where another is to make it, `refused` where the client got an error instead."""


class Call(Struct, eq=False):
    """One call of a model. What came of it is filled in once that is known."""

    record: ResponseRecord | None
    """The response that it is made for; None where a client's own request is passed on."""
    target: Target
    body: Mapping[str, Any]
    """What the backend is asked."""
    operation: Operation = "chat"
    ending: Finish | None = None
    """How the answer ended, where it was read to its end."""
    error: AntiphonError | None = None
    """Why there is no answer, or no whole one."""
    has_calls: bool = False
    """Whether the model calls tools."""
    span: Span | None = None
    """Its place in the timeline of the response, where that is kept."""
    sent: bytes = b""
    """`body` as it is sent."""

    @property
    def backend(self) -> str:
        """The name of the backend."""
        return self.target.state.backend.name


class ToolUse(Struct, eq=False):
    """One use of a tool that this server runs itself."""

    record: ResponseRecord
    name: str
    kind: str
    """`function`, `extension` or `datastore`, in the words of the conventions for traces."""
    call_id: str | None = None
    hosted: Kind | None = None
    """Which hosted tool of the API it is, if any."""
    is_over: bool = False
    """Whether it came to its end, well or not; what is broken off does not."""
    error: AntiphonError | None = None
    """Why it came to nothing."""
    span: Span | None = None
    """Its place in the timeline of the response, where that is kept."""


class Observer:
    """Receives every response that this process makes. Each method returns at once and never raises.

    The order of one response: `queued` where it is made in the background; `began`; for each call of the model `asked`,
    `spoke` once its first byte is there, and `answered`; for each use of a tool of this server `used` and `returned`;
    then `ended`.
    """

    def queued(self, response_id: str) -> None:
        """A response was put into the queue, by the request that is being served."""

    def began(self, record: ResponseRecord) -> None:
        """A response is being made."""

    def asked(self, call: Call) -> None:
        """A backend is about to be asked, by this task."""

    def spoke(self, call: Call) -> None:
        """It began to answer."""

    def answered(self, call: Call) -> None:
        """Its answer is over."""

    def used(self, use: ToolUse) -> None:
        """A tool begins to run."""

    def returned(self, use: ToolUse) -> None:
        """It has ended."""

    def ended(self, record: ResponseRecord) -> None:
        """The response has ended."""


class Observers:
    """Several, as what is to be called for each thing that happens: only methods that an observer has of its own."""

    def __init__(self) -> None:
        self.queued: tuple[Callable[[str], None], ...] = ()
        self.began: tuple[Callable[[ResponseRecord], None], ...] = ()
        self.asked: tuple[Callable[[Call], None], ...] = ()
        self.spoke: tuple[Callable[[Call], None], ...] = ()
        self.answered: tuple[Callable[[Call], None], ...] = ()
        self.used: tuple[Callable[[ToolUse], None], ...] = ()
        self.returned: tuple[Callable[[ToolUse], None], ...] = ()
        self.ended: tuple[Callable[[ResponseRecord], None], ...] = ()

    def add(self, observer: Observer) -> None:
        """Hand over to this one too, from now on."""
        for name in vars(self):
            if getattr(type(observer), name) is not getattr(Observer, name):
                setattr(self, name, (*getattr(self, name), getattr(observer, name)))
