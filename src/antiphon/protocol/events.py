"""Stream events (specification section 4): those that this server emits.

`sequence_number` is 0 for a response's first event and rises by one; `ResponseWriter` alone sets it.
`obfuscation` pads a delta to a multiple of 16 bytes, so that an event's size tells little of its text.
"""

from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType, defstruct, field

from antiphon.protocol.items.content import Item, Part
from antiphon.protocol.objects import ApiObject, UnknownItem
from antiphon.protocol.response import OutputItem, Response

if TYPE_CHECKING:
    AnyItem = OutputItem | Item
    AnyPart = Part | UnknownItem
else:
    AnyItem = AnyPart = Any  # msgspec does not check them when it reads an event, so unknown types survive


class Event(ApiObject, kw_only=True, tag_field="type", gc=False):
    """Any event of a response's stream."""

    sequence_number: int = 0

    @property
    def type(self) -> str:
        """The event's name, such as `response.output_text.delta`."""
        return str(self.__struct_config__.tag)


class Created(Event, kw_only=True, tag="response.created"):
    """The response exists; its `output` is empty and its `usage` null."""

    response: Response


class Queued(Event, kw_only=True, tag="response.queued"):
    """Work on the response will begin, in the background."""

    response: Response


class InProgress(Event, kw_only=True, tag="response.in_progress"):
    """Work on the response began."""

    response: Response


class Completed(Event, kw_only=True, tag="response.completed"):
    """Terminal: the whole response."""

    response: Response


class Incomplete(Event, kw_only=True, tag="response.incomplete"):
    """Terminal: the response stopped short, `incomplete_details` says why."""

    response: Response


class Failed(Event, kw_only=True, tag="response.failed"):
    """Terminal: `response.error` says why."""

    response: Response


class ErrorEvent(Event, kw_only=True, tag="error"):
    """Something failed in mid-stream; `response.failed` follows.

    Nested as OpenAI sends it, with the documented flat fields beside (specification section 20).
    """

    error: dict[str, Any]
    code: str | None
    message: str
    param: str | None


class Keepalive(Event, kw_only=True, tag="keepalive"):
    """The stream lives though its backend is silent."""


class ItemEvent(Event, kw_only=True):
    """An event in the life of one output item."""

    output_index: int


class OutputItemAdded(ItemEvent, kw_only=True, tag="response.output_item.added"):
    """An item opened."""

    item: AnyItem


class OutputItemDone(ItemEvent, kw_only=True, tag="response.output_item.done"):
    """An item closed; it will not change again."""

    item: AnyItem


class PartEvent(ItemEvent, kw_only=True):
    """An event in the life of one content part."""

    item_id: str
    content_index: int


class ContentPartAdded(PartEvent, kw_only=True, tag="response.content_part.added"):
    """A part opened, empty."""

    part: AnyPart


class ContentPartDone(PartEvent, kw_only=True, tag="response.content_part.done"):
    """A part closed, whole."""

    part: AnyPart


class OutputTextDelta(PartEvent, kw_only=True, tag="response.output_text.delta"):
    """Text came, with the log probabilities of its tokens where they were asked for."""

    delta: str
    logprobs: list[dict[str, Any]] = field(default_factory=list)
    obfuscation: str | UnsetType = UNSET


class OutputTextDone(PartEvent, kw_only=True, tag="response.output_text.done"):
    """The part's whole text."""

    text: str
    logprobs: list[dict[str, Any]] = field(default_factory=list)


class AnnotationAdded(PartEvent, kw_only=True, tag="response.output_text.annotation.added"):
    """The text got an annotation, such as a citation."""

    annotation_index: int
    annotation: dict[str, Any]


class RefusalDelta(PartEvent, kw_only=True, tag="response.refusal.delta"):
    """Words of a refusal came."""

    delta: str


class RefusalDone(PartEvent, kw_only=True, tag="response.refusal.done"):
    """The whole refusal."""

    refusal: str


class ReasoningTextDelta(PartEvent, kw_only=True, tag="response.reasoning_text.delta"):
    """Raw reasoning came."""

    delta: str


class ReasoningTextDone(PartEvent, kw_only=True, tag="response.reasoning_text.done"):
    """The part's whole reasoning."""

    text: str


class SummaryEvent(ItemEvent, kw_only=True):
    """An event in the life of one part of a reasoning summary."""

    item_id: str
    summary_index: int


class SummaryPartAdded(SummaryEvent, kw_only=True, tag="response.reasoning_summary_part.added"):
    """A summary part opened, empty."""

    part: AnyPart


class SummaryPartDone(SummaryEvent, kw_only=True, tag="response.reasoning_summary_part.done"):
    """A summary part closed, whole."""

    part: AnyPart


class SummaryTextDelta(SummaryEvent, kw_only=True, tag="response.reasoning_summary_text.delta"):
    """Words of a summary came."""

    delta: str
    obfuscation: str | UnsetType = UNSET


class SummaryTextDone(SummaryEvent, kw_only=True, tag="response.reasoning_summary_text.done"):
    """The summary part's whole text."""

    text: str


class ArgumentsDelta(ItemEvent, kw_only=True, tag="response.function_call_arguments.delta"):
    """A piece of a call's arguments came."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class ArgumentsDone(ItemEvent, kw_only=True, tag="response.function_call_arguments.done"):
    """The call's whole arguments."""

    item_id: str
    arguments: str


class CustomInputDelta(ItemEvent, kw_only=True, tag="response.custom_tool_call_input.delta"):
    """A piece of a custom tool's input came."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class CustomInputDone(ItemEvent, kw_only=True, tag="response.custom_tool_call_input.done"):
    """The custom tool's whole input."""

    item_id: str
    input: str


class CommandEvent(ItemEvent, kw_only=True):
    """An event in the life of one command of a shell call."""

    command_index: int


class ShellCommandAdded(CommandEvent, kw_only=True, tag="response.shell_call_command.added"):
    """A command opened, empty."""

    command: str


class ShellCommandDelta(CommandEvent, kw_only=True, tag="response.shell_call_command.delta"):
    """A piece of a command came."""

    delta: str
    obfuscation: str | UnsetType = UNSET


class ShellCommandDone(CommandEvent, kw_only=True, tag="response.shell_call_command.done"):
    """The whole command."""

    command: str


class DiffDelta(ItemEvent, kw_only=True, tag="response.apply_patch_call_operation_diff.delta"):
    """A piece of a patch came."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class DiffDone(ItemEvent, kw_only=True, tag="response.apply_patch_call_operation_diff.done"):
    """The whole patch."""

    item_id: str
    diff: str


class McpArgumentsDelta(ItemEvent, kw_only=True, tag="response.mcp_call_arguments.delta"):
    """A piece of the arguments of another server's tool came."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class McpArgumentsDone(ItemEvent, kw_only=True, tag="response.mcp_call_arguments.done"):
    """Its whole arguments."""

    item_id: str
    arguments: str


class CodeDelta(ItemEvent, kw_only=True, tag="response.code_interpreter_call_code.delta"):
    """A piece of the code that the backend runs came."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class CodeDone(ItemEvent, kw_only=True, tag="response.code_interpreter_call_code.done"):
    """The whole code."""

    item_id: str
    code: str


class ShellOutputDelta(CommandEvent, kw_only=True, tag="response.shell_call_output_content.delta"):
    """What a command that the backend ran has said: `{stdout}`, `{stderr}` or both."""

    item_id: str
    delta: dict[str, str]


class ShellOutputDone(CommandEvent, kw_only=True, tag="response.shell_call_output_content.done"):
    """All that it has said, and how it ended."""

    item_id: str
    output: list[Any]


class PartialImage(ItemEvent, kw_only=True, tag="response.image_generation_call.partial_image"):
    """An image as far as it is made, in base64."""

    item_id: str
    partial_image_index: int
    partial_image_b64: str
    background: str | UnsetType = UNSET
    output_format: str | UnsetType = UNSET
    quality: str | UnsetType = UNSET
    size: str | UnsetType = UNSET


class StepEvent(ItemEvent, kw_only=True):
    """A tool that the backend runs has come a step further."""

    item_id: str


STEPS: dict[str, tuple[str, ...]] = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_list_tools": ("in_progress", "completed", "failed"),
    "mcp_call": ("in_progress", "completed", "failed"),
}
"""The steps of each such tool's item, in their order; `failed` stands in place of `completed`."""


def _step(kind: str, step: str) -> Any:
    name = "".join(word.title() for word in f"{kind}_{step}".split("_"))
    tag = f"response.{kind}.{step}"
    return defstruct(name, (), bases=(StepEvent,), module=__name__, kw_only=True, gc=False, tag_field="type", tag=tag)


STEP_EVENTS: dict[tuple[str, str], type[StepEvent]] = {
    (kind, step): _step(kind, step) for kind, steps in STEPS.items() for step in steps
}
"""The event of each step: `response.web_search_call.searching` and the like."""


class Compacting(ItemEvent, kw_only=True, tag="response.compaction.compacting"):
    """What came before is being made shorter."""

    item_id: str


class SteerAccepted(Event, kw_only=True, tag="response.steer.accepted"):
    """What a client said into a response is the server's to pass on (specification section 8)."""

    steer: dict[str, Any]


class SteerPending(Event, kw_only=True, tag="response.steer.pending"):
    """It waits for the client to answer the calls that the response ended with; `required_input` are their stubs."""

    reason: str
    required_input: list[dict[str, Any]]
    steer: dict[str, Any]


class SteerFailed(Event, kw_only=True, tag="response.steer.failed"):
    """It came to nothing, and goes back to the client."""

    error: dict[str, Any]
    steer: dict[str, Any]


class UnknownEvent(Event, kw_only=True):
    """An event of a type that this version does not know: `data` is its JSON object, unchanged."""

    data: dict[str, Any]

    @property
    def type(self) -> str:
        """The name that the server sent."""
        return str(self.data.get("type", ""))

    def to_dict(self) -> dict[str, Any]:
        """Return the event as it was sent."""
        return dict(self.data)


TERMINAL = (Completed, Incomplete, Failed)
