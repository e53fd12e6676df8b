"""The decisions about a response before it runs: an object for each capability that it uses, None
for the others.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from antiphon.access.unseal import Unsealer
from antiphon.cache.cache import Lookup
from antiphon.history.context import Context
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.protocol.tool_bindings import Kind
from antiphon.recording.checkpoints import Checkpoint, ToolCallRecord
from antiphon.recording.persistence import Recorder
from antiphon.runs.tool_policy import settled
from antiphon.tools.registry import Toolset
from antiphon.translation.writer import View
from antiphon.upstream.router import Route


class ResumeState(Struct, frozen=True):
    """The existing state of a response that was begun elsewhere, or queued."""

    created_at: int
    stored: Sequence[Item]
    sealed: Mapping[str, str]
    next_number: int
    begins: bool
    """Nothing of an earlier attempt remains: no event that it is in progress, no item, no call."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """Its progress with server-side tools."""
    size: int = 0
    """Bytes of its request, or of JSON that takes as long."""
    defers_for: float = 0
    """The number of seconds for which its model is called in idle slots of backends only."""

    @property
    def stands(self) -> bool:
        """Whether all existing items remain, up to the end of an answer, and the model is not
        called for it again.
        """
        calls = self.checkpoint.calls
        return bool(calls) and calls[-1].index + 1 >= len(self.stored)

    @property
    def settled(self) -> int:
        """How many of the items are not generated again."""
        return len(self.stored) if self.stands else settled(self.stored)

    @property
    def remaining(self) -> Sequence[ToolCallRecord] | None:
        """The rest of that answer that must still be emitted; None if the attempt was not in it."""
        return (
            [one for one in self.checkpoint.calls if one.index >= len(self.stored)]
            if self.stands
            else None
        )


class RunPlan(Struct, frozen=True):
    """One response, prepared.

    Capabilities that it does not use are None, and cost nothing at run time.
    """

    request: CreateResponse
    context: Context
    items: list[InputItem]
    """All items that the model sees: the history, then the new input."""
    response: Response
    """The response object before anything was generated."""
    view: View
    """The parts of the response that its client requested (`include`)."""
    route: Route
    chains: Sequence[str]
    """The chains of the request, the most specific first."""
    unseal: Unsealer
    """Opens the sealed content that the client returns to this server."""
    recorder: Recorder | None
    """Stores the response; None if nothing of it is stored, and it holds no lease."""
    tools: Toolset | None
    """The tools that this server runs; None if neither the request nor
    the conversation uses any.
    """
    compacts: bool
    """The context may have to be compacted."""
    cache: Lookup | None
    resume: ResumeState | None
    """The state of an earlier attempt, or of the queue; None for a response
    that a client waits for.
    """
    ignored_tools: Sequence[str]
    """Types of tools that are not offered to the model, because only a server can run them."""
    is_stream: bool
    warms: bool = False
    """Only the prompt cache of the backend is filled: no output is generated."""
    diagnoses: bool = False
    """The prompt is compared with that of another response (`comparison_response_id`)."""
    is_compared: bool = False
    """A client of another API compares the prompt with others, or others with it."""
    call_ids: frozenset[str] = frozenset()
    """The ids of the calls in the conversation: new calls must not repeat them."""
    containers: Mapping[Kind, str] = {}
    """The container in which calls of a tool run, by its kind; empty if the request has
    no such tool.
    """
