"""The steps of one response, which `turn.py` decides and `step_loop.py` performs."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from antiphon.protocol.items.content import InputFile, Item
from antiphon.protocol.items.hosted import McpListTools
from antiphon.protocol.response import Usage
from antiphon.protocol.sources import Sources
from antiphon.protocol.tools import McpTool
from antiphon.recording.checkpoints import ToolCallRecord
from antiphon.runs.tool_policy import Approved
from antiphon.translation.checked_items import CheckedCall, CheckedMessage, TextCheck
from antiphon.translation.dialects.dialect import Api
from antiphon.translation.files import Form
from antiphon.translation.hosted_call import HostedCall
from antiphon.translation.tool_items import StreamingCustomCall
from antiphon.translation.tool_mapping.offering import Toolbox
from antiphon.translation.wire import Finish
from antiphon.translation.writer import CiteFiles, Note


class CallModel(Struct, frozen=True):
    """Send this body to the backend; the output is for the client."""

    body: dict[str, Any]
    toolbox: Toolbox
    """The tools that are offered to the model over Chat."""
    allowed: frozenset[str] | None
    """The names that can be called, None for any."""
    api: Api
    """The API of the backend."""
    check: TextCheck | None = None
    """The schema that the text must match."""
    note: Note | None = None
    """The note to a model that repeats itself."""
    hosted_left: int | None = None
    """How many calls of server-side tools are accepted, None for any number."""
    sources: Sources = {}
    """The sources that the model can cite."""
    call_ids: frozenset[str] = frozenset()
    """The ids of server-side calls, which clients never see: new calls must not repeat them."""
    cite_files: CiteFiles | None = None
    """Returns the citations of files that code created; None without such files."""
    adjusted: Sequence[str] = ()
    """The names of what the backend is sent differently than the client wrote it
    (`to_chat_completions.adjustments`).
    """


class AuxiliaryCall(Struct, frozen=True):
    """Send this body to the backend; the output is for the turn, and the client receives
    none of it.
    """

    body: dict[str, Any]
    toolbox: Toolbox
    allowed: frozenset[str] | None
    api: Api
    compacts: bool = False
    """Once the backend answers, an event reports to the client that the context
    is being compacted.
    """


class ModelResult(Struct, frozen=True):
    """How one model call ended, and the items that it generated."""

    ending: Finish
    items: Sequence[Item] = ()
    is_silent: bool = False
    """It failed without output."""


class EmitItem(Struct, frozen=True):
    """Emit an item that no model generated."""

    item: Item


class ListTools(Struct, frozen=True):
    """List the tools of these servers; emit the lists that the conversation does not have
    (`listed`, by label).
    """

    servers: Sequence[McpTool]
    listed: Mapping[str, McpListTools]


class RunTools(Struct, frozen=True):
    """Execute these calls in parallel, and emit their results.

    The model made them (`retained`); or they are `approved`, to be emitted first; or left by an
    earlier attempt (`remaining`).
    """

    retained: Sequence[HostedCall] = ()
    approved: Sequence[Approved] = ()
    remaining: Sequence[ToolCallRecord] = ()
    usage: Usage | None = None
    """The tokens reported so far: saved with the calls."""
    rounds: int = 0
    """How often the model has called tools: saved with the calls."""


class Settle(Struct, frozen=True):
    """End an item that was held back, with this text; `note` describes the repair."""

    retained: StreamingCustomCall | CheckedCall | CheckedMessage
    text: str
    note: Note | None = None


class LoadModules(Struct, frozen=True):
    """Load modules that are large and that few responses need."""

    names: Sequence[str]


class AttachFiles(Struct, frozen=True):
    """Read the files of the conversation that must be read before it can be translated:
    at least this part.
    """

    part: InputFile
    form: Form


class Compact(Struct, frozen=True):
    """Emit the compaction that contains this summary."""

    summary: str


class SkipCompaction(Struct, frozen=True):
    """Note that the context is too long, and that a compaction would not help."""


class FinishRun(Struct, frozen=True):
    """The response has ended."""

    ending: Finish


Step = (
    CallModel
    | AuxiliaryCall
    | EmitItem
    | ListTools
    | RunTools
    | Settle
    | LoadModules
    | AttachFiles
    | Compact
    | SkipCompaction
    | FinishRun
)
Steps = Generator[Step, None, None]
