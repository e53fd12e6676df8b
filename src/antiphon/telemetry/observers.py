"""Reports responses to metrics, traces and the log: one record of each, filled in while the
response runs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from antiphon.errors import AntiphonError
from antiphon.protocol.items.content import Item
from antiphon.protocol.response import Response, ResponseError
from antiphon.protocol.tool_bindings import Kind
from antiphon.translation.wire import Finish
from antiphon.translation.writer import Note
from antiphon.upstream.backend_state import ModelTarget

Operation = Literal["chat", "embeddings", "images"]

CacheStatus = Literal["hit", "miss"]


class Span(Struct, eq=False):
    """One model call or tool call, in the timeline of a response.

    Times are of the monotonic clock.
    """

    kind: Literal["call", "tool"]
    name: str
    """The name of the backend, as clients see it, or of the tool, with that of its MCP server:
    `tracker.search`.
    """
    began: float
    first: float | None = None
    """When the first byte of the answer arrived."""
    ended: float | None = None
    error: str = ""
    """The error's code."""
    message: str = ""
    """The error's text, as clients see it."""
    body: bytes = b""
    """The request that the backend received; empty for a tool, and if it is not stored."""


class ResponseRecord(Struct, eq=False):
    """One response. Observers receive it when the response begins, and again when it has ended."""

    response: Response
    """Its state when the record was passed on; at the end it is final and durable, or was
    abandoned.
    """
    target: ModelTarget
    """The model and backend that are called, or that answered."""
    output: Callable[[], Sequence[Item]]
    """Returns the completed items."""
    is_stream: bool = False
    is_background: bool = False
    is_resumed: bool = False
    """An earlier attempt began it."""
    ignored_tools: Sequence[str] = ()
    """Types of tools that are not offered to the model, because only a server can run them."""
    adjusted: Sequence[str] = ()
    """What the backend was sent differently than the client wrote it
    (`to_chat_completions.adjustments`).
    """
    began: float = 0.0
    """When it was begun, in seconds of the monotonic clock."""
    model: str = ""
    """The requested model, by the name that clients know."""
    cache: CacheStatus | None = None
    """The result of the cache lookup; None if the cache is not used."""
    notes: Sequence[Note] = ()
    """Faults in the model's output, and their corrections."""
    skipped_compactions: int = 0
    """Times that the context was too long for `compact_threshold`, and a compaction would not have
    helped.
    """
    tenant: str = ""
    """Its tenant; empty without an API key."""
    spans: list[Span] = []
    """Its model and tool calls, in order; empty if it is not timed."""
    failure: ResponseError | None = None
    """The error that the client received instead of the response; None if it received none."""
    outcome: str = ""
    """Its final status, `queued` if another worker runs it, `refused` if the client received an
    error instead.
    """


class ObservedCall(Struct, eq=False):
    """One model call. The outcome is filled in once it is known."""

    record: ResponseRecord | None
    """The response that it belongs to; None if a client's own request is passed on."""
    target: ModelTarget
    body: Mapping[str, Any]
    """The request to the backend."""
    operation: Operation = "chat"
    ending: Finish | None = None
    """How the answer ended, if it was read to its end."""
    error: AntiphonError | None = None
    """Why there is no answer, or an incomplete one."""
    has_calls: bool = False
    """Whether the model calls tools."""
    span: Span | None = None
    """Its span in the timeline of the response, if that is recorded."""
    sent: bytes = b""
    """`body` as it is sent."""

    @property
    def backend(self) -> str:
        """The name of the backend."""
        return self.target.state.backend.name


class ToolUse(Struct, eq=False):
    """One call of a server-side tool."""

    record: ResponseRecord | None
    """The response of the model that called it; None if an agent did."""
    tenant: str
    name: str
    kind: str
    """`function`, `extension` or `datastore`, in the terms of the conventions for traces."""
    call_id: str | None = None
    server: str = ""
    """The label of its MCP server; empty for any other tool."""
    hosted: Kind | None = None
    """Which hosted tool of the API it is, if any."""
    is_over: bool = False
    """Whether it was completed, successfully or not; false if it was cancelled."""
    error: AntiphonError | None = None
    """Why it failed."""
    cpu: float = 0.0
    """CPU seconds of code that it ran."""
    paused: float = 0.0
    """Seconds for which that code was paused, because its tenant used more than its share."""
    span: Span | None = None
    """Its span in the timeline of the response, if that is recorded."""


class AgentAttempt(Struct, eq=False):
    """One attempt of an agent to compute a response."""

    agent: str
    response_id: str
    number: int
    """1 for the first."""
    is_takeover: bool
    """Whether the worker of an earlier attempt died."""
    waited: float
    """Seconds since the response was created."""
    end: str = ""
    """The final status of the response; `left` if another process continues it."""


class StepUse(Struct, eq=False):
    """One step that the handler of an agent requests."""

    attempt: AgentAttempt
    name: str
    key: str
    is_once: bool
    is_recorded: bool
    """Whether its result is that of an earlier attempt."""
    error: str = ""
    """The type of the error that it raised; empty if it raised none."""


class Observer:
    """Receives every response that this process runs. Each method returns at once and never raises.

    The order for one response: `queued` if it runs in the background; `began`; for each model call
    `requested`, `spoke` once its first byte has arrived, and `answered`; for each server-side tool
    call `used` and `returned`; then `ended`. For the response of an agent: `agent_began`, for each
    step `step_began` and `step_ended`, then `agent_ended`.
    """

    def queued(self, response_id: str) -> None:
        """A response was put into the queue, by the request that is being served."""

    def began(self, record: ResponseRecord) -> None:
        """A response is running."""

    def requested(self, call: ObservedCall) -> None:
        """A backend is about to be called, by this task."""

    def spoke(self, call: ObservedCall) -> None:
        """The backend began to answer."""

    def answered(self, call: ObservedCall) -> None:
        """Its answer has ended."""

    def used(self, use: ToolUse) -> None:
        """A tool begins to run."""

    def returned(self, use: ToolUse) -> None:
        """The tool has ended."""

    def agent_began(self, attempt: AgentAttempt) -> None:
        """An attempt of an agent begins, in the task that runs it."""

    def step_began(self, use: StepUse) -> None:
        """A step begins, in the task that runs it, or its result is read."""

    def step_ended(self, use: StepUse) -> None:
        """The step has ended, in the same task."""

    def agent_ended(self, attempt: AgentAttempt) -> None:
        """The attempt has ended."""

    def ended(self, record: ResponseRecord) -> None:
        """The response has ended."""


class Observers:
    """Combines several observers, as lists of callables for each event: only methods that an
    observer overrides.
    """

    def __init__(self) -> None:
        self.queued: tuple[Callable[[str], None], ...] = ()
        self.began: tuple[Callable[[ResponseRecord], None], ...] = ()
        self.requested: tuple[Callable[[ObservedCall], None], ...] = ()
        self.spoke: tuple[Callable[[ObservedCall], None], ...] = ()
        self.answered: tuple[Callable[[ObservedCall], None], ...] = ()
        self.used: tuple[Callable[[ToolUse], None], ...] = ()
        self.returned: tuple[Callable[[ToolUse], None], ...] = ()
        self.ended: tuple[Callable[[ResponseRecord], None], ...] = ()
        self.agent_began: tuple[Callable[[AgentAttempt], None], ...] = ()
        self.step_began: tuple[Callable[[StepUse], None], ...] = ()
        self.step_ended: tuple[Callable[[StepUse], None], ...] = ()
        self.agent_ended: tuple[Callable[[AgentAttempt], None], ...] = ()

    def add(self, observer: Observer) -> None:
        """Add this one too, from now on."""
        for name in vars(self):
            if getattr(type(observer), name) is not getattr(Observer, name):
                setattr(self, name, (*getattr(self, name), getattr(observer, name)))
