"""What `turn.py` decides and `run.py` does: the steps of one response."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.engine.called import Called
from antiphon.engine.hosted import Approved
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.hosted import McpListTools
from antiphon.protocol.response import Usage
from antiphon.protocol.tools import McpTool
from antiphon.translation.dialects import Api
from antiphon.translation.from_chat.reader import Ending
from antiphon.translation.hosted_items import HostedCall
from antiphon.translation.tool_items import StreamingCustomCall
from antiphon.translation.tool_mapping.offering import Toolbox


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send this body to the backend; what comes is the client's."""

    body: dict[str, Any]
    toolbox: Toolbox
    """What the model is offered over Chat."""
    allowed: frozenset[str] | None
    """The names that may be called, None where any may."""
    api: Api
    """The API in which the backend is asked."""
    hosted_left: int | None = None
    """How many calls of this server's own tools are heard, None for any number."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """What the model may cite: the title by the URL."""
    call_ids: frozenset[str] = frozenset()
    """The ids of this server's own calls, which are no client's to see: a new call has another."""


@dataclass(frozen=True, slots=True)
class AskAside:
    """Send this body to the backend; what comes is the turn's, and the client sees none of it."""

    body: dict[str, Any]
    toolbox: Toolbox
    allowed: frozenset[str] | None
    api: Api
    compacts: bool = False
    """The client is told, once the backend answers, that what came before is being made shorter."""


@dataclass(frozen=True, slots=True)
class Tell:
    """Give the client an item that no model made."""

    item: Item


@dataclass(frozen=True, slots=True)
class ListTools:
    """Look which tools these servers have; tell it where the conversation does not know (`listed`, by label)."""

    servers: Sequence[McpTool]
    listed: Mapping[str, McpListTools]


@dataclass(frozen=True, slots=True)
class RunTools:
    """Carry these calls out side by side, and tell what came of each.

    They are held, since the model said them; or `approved`, to be told first; or left by an earlier attempt (`left`).
    """

    held: Sequence[HostedCall] = ()
    approved: Sequence[Approved] = ()
    left: Sequence[Called] = ()
    usage: Usage | None = None
    """The tokens that were reported until now, and how often the model has asked for tools: to be kept with them."""
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Settle:
    """End a call that was held, with this input."""

    call: StreamingCustomCall
    text: str


@dataclass(frozen=True, slots=True)
class Compact:
    """Give the client the compaction that holds this summary."""

    summary: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The response is over."""

    ending: Ending


Step = CallModel | AskAside | Tell | ListTools | RunTools | Settle | Compact | Finish
Steps = Generator[Step, None, None]
