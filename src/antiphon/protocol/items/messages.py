"""Items: the input and output of a response (specification section 5)."""

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from antiphon.protocol.formats import ReasoningUpdate, TextUpdate
from antiphon.protocol.items.calls import (
    AdditionalTools,
    ApplyPatchCall,
    ApplyPatchCallOutput,
    ComputerCall,
    ComputerCallOutput,
    CustomToolCall,
    CustomToolCallOutput,
    LocalShellCall,
    LocalShellCallOutput,
    ShellCall,
    ShellCallOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from antiphon.protocol.items.content import (
    Caller,
    CallId,
    ContentParts,
    CreatedBy,
    InputParts,
    Item,
    ItemId,
    Phase,
    ReasoningText,
    Role,
    Status,
    SummaryText,
    Text,
)
from antiphon.protocol.items.hosted import (
    CodeInterpreterCall,
    FileSearchCall,
    HostedItem,
    ImageGenerationCall,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCall,
    McpListTools,
    Program,
    ProgramOutput,
    WebSearchCall,
)


class Message(Item, kw_only=True, tag="message"):
    """A message of any role.

    The API writes an assistant's with parts; clients can send a plain string.
    """

    status: Status | UnsetType | None = UNSET
    role: Role
    content: Text | ContentParts
    phase: Phase | UnsetType | None = UNSET


class FunctionCall(Item, kw_only=True, dict=True, tag="function_call"):
    """The model calls a function of the client's.

    `arguments` is JSON as the model wrote it, valid or not.
    """

    status: Status | UnsetType | None = UNSET
    call_id: CallId
    name: Annotated[str, Meta(min_length=1, max_length=128)]
    arguments: Text
    namespace: str | UnsetType | None = UNSET
    caller: Caller = UNSET
    async_: bool | UnsetType | None = field(default=UNSET, name="async")
    parsed_arguments: Any = UNSET


class FunctionCallOutput(Item, kw_only=True, tag="function_call_output"):
    """The client's output of a `FunctionCall`. A late one can name the tool instead of the call."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId | UnsetType | None = UNSET
    output: Text | InputParts
    name: str | UnsetType | None = UNSET
    namespace: str | UnsetType | None = UNSET
    caller: Caller = UNSET
    created_by: CreatedBy = UNSET


class Reasoning(Item, kw_only=True, tag="reasoning"):
    """The model's reasoning. `encrypted_content` is opaque: the data that the backend expects back,
    including signatures.
    """

    status: Status | UnsetType | None = UNSET
    summary: list[SummaryText]
    content: list[ReasoningText] | UnsetType | None = UNSET
    encrypted_content: str | UnsetType | None = UNSET


class ItemReference(Item, kw_only=True, tag="item_reference"):
    """A reference to the stored item with that id."""

    id: ItemId


class Compaction(Item, kw_only=True, tag="compaction"):
    """Replaces the items before it, except user messages; `encrypted_content` is ours, or cannot be
    opened.
    """

    encrypted_content: str
    created_by: CreatedBy = UNSET


class SentCompaction(Compaction, kw_only=True, tag="compaction"):
    """A compaction in the input of the request itself: the items before it are read too
    (pydantic-ai#7224).

    Clients can drop them if they want to. Once it is stored, it is a `Compaction` of the history.
    """


class CompactionTrigger(Item, kw_only=True, tag="compaction_trigger"):
    """As the last item: create a `Compaction` of the items before it, and nothing else."""


class ConfigurationUpdate(Item, kw_only=True, tag="configuration_update"):
    """Settings for the rest of the chain, until the next such item."""

    reasoning: ReasoningUpdate | UnsetType | None = UNSET
    text: TextUpdate | UnsetType | None = UNSET


InputItem = (
    Message
    | FunctionCall
    | FunctionCallOutput
    | Reasoning
    | ItemReference
    | CustomToolCall
    | CustomToolCallOutput
    | ToolSearchCall
    | ToolSearchOutput
    | AdditionalTools
    | LocalShellCall
    | LocalShellCallOutput
    | ShellCall
    | ShellCallOutput
    | ApplyPatchCall
    | ApplyPatchCallOutput
    | ComputerCall
    | ComputerCallOutput
    | Compaction
    | CompactionTrigger
    | ConfigurationUpdate
    | HostedItem
)


class ItemList(list[InputItem]):
    """Immutable items, and their types: most checks of a conversation end there."""

    __slots__ = ("kinds",)

    kinds: frozenset[type]


def kinds_of(items: Iterable[InputItem]) -> frozenset[type]:
    """Return the types of some items."""
    return items.kinds if isinstance(items, ItemList) else frozenset(map(type, items))


ID_PREFIXES: dict[type[Item], str] = {
    Message: "msg",
    FunctionCall: "fc",
    FunctionCallOutput: "fco",
    Reasoning: "rs",
    CustomToolCall: "ctc",
    CustomToolCallOutput: "ctco",
    ToolSearchCall: "tsc",
    ToolSearchOutput: "tso",
    AdditionalTools: "at",
    LocalShellCall: "lsh",
    LocalShellCallOutput: "lsho",
    ShellCall: "sh",
    ShellCallOutput: "sho",
    ApplyPatchCall: "apc",
    ApplyPatchCallOutput: "apco",
    ComputerCall: "cu",
    ComputerCallOutput: "cuo",
    Compaction: "cmp",
    SentCompaction: "cmp",
    CompactionTrigger: "cmpt",
    ConfigurationUpdate: "cfg",
    WebSearchCall: "ws",
    FileSearchCall: "fs",
    CodeInterpreterCall: "ci",
    ImageGenerationCall: "ig",
    McpListTools: "mcpl",
    McpApprovalRequest: "mcpr",
    McpApprovalResponse: "mcpa",
    McpCall: "mcp",
    Program: "cm",
    ProgramOutput: "cmo",
}
"""The prefix of a new item's id (specification section 3)."""

KNOWN_ITEMS: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("agent_message", "multi_agent_call", "multi_agent_call_output"), ()
)
"""The API's other input items, of its multi-agent beta (specification section 19): rejected by
name.
"""
