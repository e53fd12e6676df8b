"""What is decided about a response before it is made: an object for each capability that it uses, None for the rest."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from antiphon.cache.cache import Lookup
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.protocol.tool_bindings import Kind
from antiphon.runs.checkpoints import Checkpoint, ToolCallRecord
from antiphon.runs.context import Context
from antiphon.runs.persistence import Recorder
from antiphon.runs.tool_policy import settled
from antiphon.tools.registry import Toolset
from antiphon.translation.to_chat.reasoning import Unseal
from antiphon.translation.writer import View
from antiphon.upstream.router import Route


class ResumeState(Struct, frozen=True):
    """What exists of a response that was begun elsewhere, or queued."""

    created_at: int
    kept: Sequence[Item]
    sealed: Mapping[str, str]
    next_number: int
    begins: bool
    """No client knows yet that it is in progress."""
    work: Checkpoint = field(default_factory=Checkpoint)
    """How far it had come with this server's tools."""
    is_large: bool = False
    """Whether its request is so large that work on it is done in threads."""

    @property
    def stands(self) -> bool:
        """Whether all that was made stands, up to the end of an answer, and the model is not asked for it again."""
        return bool(self.work.calls) and self.work.calls[-1].index + 1 >= len(self.kept)

    @property
    def settled(self) -> int:
        """How many of the items are not made again."""
        return len(self.kept) if self.stands else settled(self.kept)

    @property
    def remaining(self) -> Sequence[ToolCallRecord] | None:
        """What is still to be reported of that answer; None where the attempt was not at that."""
        return [one for one in self.work.calls if one.index >= len(self.kept)] if self.stands else None


class RunPlan(Struct, frozen=True):
    """One response, prepared. What it does not use is None, and costs nothing while it is made."""

    request: CreateResponse
    context: Context
    items: list[InputItem]
    """Everything that the model is to see: the history, then the new input."""
    response: Response
    """The response as it stands before anything was generated."""
    view: View
    """What of the response its client asked to see."""
    route: Route
    chains: Sequence[str]
    """The chains to which the request belongs, the most telling first."""
    unseal: Unseal
    """Opens what the client kept for this server."""
    recorder: Recorder | None
    """Keeps the response; None where nothing of it is stored, and nothing held for it."""
    tools: Toolset | None
    """The tools that this server runs; None where neither the request nor the conversation knows any."""
    compacts: bool
    """The context may have to be compacted."""
    cache: Lookup | None
    resume: ResumeState | None
    """What an earlier attempt left, or the queue; None for a response that a client waits for."""
    ignored_tools: Sequence[str]
    """Types of tools that the model is not offered, since only a server can run them."""
    is_stream: bool
    call_ids: frozenset[str] = frozenset()
    """The ids of the calls in the conversation: a new call has another."""
    containers: Mapping[Kind, str] = {}
    """The container in which calls of a tool run, by its kind; empty where the request has no such tool."""
