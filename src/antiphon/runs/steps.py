"""What `turn.py` decides and `step_loop.py` performs: the steps of one response."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from antiphon.protocol.items.content import InputFile, Item
from antiphon.protocol.items.hosted import McpListTools
from antiphon.protocol.response import Usage
from antiphon.protocol.sources import Sources
from antiphon.protocol.tools import McpTool
from antiphon.runs.checkpoints import ToolCallRecord
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
    """Send this body to the backend; what comes is the client's."""

    body: dict[str, Any]
    toolbox: Toolbox
    """What the model is offered over Chat."""
    allowed: frozenset[str] | None
    """The names that may be called, None where any may."""
    api: Api
    """The API in which the backend is asked."""
    check: TextCheck | None = None
    """The schema that the text is to fit."""
    note: Note | None = None
    """The note to a model that repeats itself."""
    hosted_left: int | None = None
    """How many calls of this server's own tools are heard, None for any number."""
    sources: Sources = {}
    """What the model may cite."""
    call_ids: frozenset[str] = frozenset()
    """The ids of this server's own calls, which are no client's to see: a new call has another."""
    cite_files: CiteFiles | None = None
    """Returns the citations of files that code made; None where there are none."""


class AuxiliaryCall(Struct, frozen=True):
    """Send this body to the backend; what comes is the turn's, and the client sees none of it."""

    body: dict[str, Any]
    toolbox: Toolbox
    allowed: frozenset[str] | None
    api: Api
    compacts: bool = False
    """Once the backend answers, an event tells the client that the context is being compacted."""


class ModelResult(Struct, frozen=True):
    """How one call of the model ended, and the items that it made."""

    ending: Finish
    items: Sequence[Item] = ()


class Tell(Struct, frozen=True):
    """Give the client an item that no model made."""

    item: Item


class ListTools(Struct, frozen=True):
    """Look which tools these servers have; tell it where the conversation does not know (`listed`, by label)."""

    servers: Sequence[McpTool]
    listed: Mapping[str, McpListTools]


class RunTools(Struct, frozen=True):
    """Carry these calls out side by side, and tell what came of each.

    The model made them (`held`); or they are `approved`, to be emitted first; or left by an earlier attempt (`left`).
    """

    held: Sequence[HostedCall] = ()
    approved: Sequence[Approved] = ()
    left: Sequence[ToolCallRecord] = ()
    usage: Usage | None = None
    """The tokens that were reported until now, and how often the model has asked for tools: to be kept with them."""
    rounds: int = 0


class Settle(Struct, frozen=True):
    """End an item that was held, with this text; `note` says what was done about it."""

    held: StreamingCustomCall | CheckedCall | CheckedMessage
    text: str
    note: Note | None = None


class LoadModules(Struct, frozen=True):
    """Load modules that are large and that few responses need."""

    names: Sequence[str]


class AttachFiles(Struct, frozen=True):
    """Read the files of the conversation that have to be read before it can be translated: at least this part."""

    part: InputFile
    form: Form


class Compact(Struct, frozen=True):
    """Give the client the compaction that holds this summary."""

    summary: str


class SkipCompaction(Struct, frozen=True):
    """Note that the context is too long, and that a compaction would not help."""


class FinishRun(Struct, frozen=True):
    """The response is over."""

    ending: Finish


Step = (
    CallModel
    | AuxiliaryCall
    | Tell
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
