"""Stream events (specification section 4) that this server emits.

`sequence_number` is 0 for a response's first event and increases by one; only `ResponseWriter` sets
it. `obfuscation` pads a delta to a multiple of 16 bytes, so that an event's size reveals little
about its text. Each class has the name that OpenAI's package gives it, if the package has the
event.
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
    AnyItem = AnyPart = (
        Any  # msgspec does not check them when it reads an event, so unknown types survive
    )


class Event(ApiObject, kw_only=True, tag_field="type", gc=False):
    """Any event of a response's stream."""

    sequence_number: int = 0

    @property
    def type(self) -> str:
        """The event's name, such as `response.output_text.delta`."""
        return str(self.__struct_config__.tag)


class ResponseCreatedEvent(Event, kw_only=True, tag="response.created"):
    """The response was created; its `output` is empty and its `usage` null."""

    response: Response


class ResponseQueuedEvent(Event, kw_only=True, tag="response.queued"):
    """The response is queued: it will run in the background."""

    response: Response


class ResponseInProgressEvent(Event, kw_only=True, tag="response.in_progress"):
    """The response is in progress."""

    response: Response


class ResponseCompletedEvent(Event, kw_only=True, tag="response.completed"):
    """Terminal: the response completed."""

    response: Response


class ResponseIncompleteEvent(Event, kw_only=True, tag="response.incomplete"):
    """Terminal: the response ended early; `incomplete_details` has the reason."""

    response: Response


class ResponseFailedEvent(Event, kw_only=True, tag="response.failed"):
    """Terminal: the response failed; `response.error` has the reason."""

    response: Response


class ResponseErrorEvent(Event, kw_only=True, tag="error"):
    """An error in the middle of the stream; `response.failed` follows.

    Nested as OpenAI sends it, with the documented flat fields as well (specification section 20).
    """

    error: dict[str, Any]
    code: str | None
    message: str
    param: str | None


class Keepalive(Event, kw_only=True, tag="keepalive"):
    """The stream is alive although its backend is idle."""


class ItemEvent(Event, kw_only=True):
    """An event of one output item."""

    output_index: int


class ResponseOutputItemAddedEvent(ItemEvent, kw_only=True, tag="response.output_item.added"):
    """An item was opened."""

    item: AnyItem


class ResponseOutputItemDoneEvent(ItemEvent, kw_only=True, tag="response.output_item.done"):
    """An item was closed; it will not change again."""

    item: AnyItem


class PartEvent(ItemEvent, kw_only=True):
    """An event of one content part."""

    item_id: str
    content_index: int


class ResponseContentPartAddedEvent(PartEvent, kw_only=True, tag="response.content_part.added"):
    """An empty part was opened."""

    part: AnyPart


class ResponseContentPartDoneEvent(PartEvent, kw_only=True, tag="response.content_part.done"):
    """A complete part was closed."""

    part: AnyPart


class ResponseTextDeltaEvent(PartEvent, kw_only=True, tag="response.output_text.delta"):
    """A piece of text, with the log probabilities of its tokens if requested."""

    delta: str
    logprobs: list[dict[str, Any]] = field(default_factory=list)
    obfuscation: str | UnsetType = UNSET


class ResponseTextDoneEvent(PartEvent, kw_only=True, tag="response.output_text.done"):
    """The complete text of the part."""

    text: str
    logprobs: list[dict[str, Any]] = field(default_factory=list)


class ResponseOutputTextAnnotationAddedEvent(
    PartEvent, kw_only=True, tag="response.output_text.annotation.added"
):
    """An annotation of the text, such as a citation."""

    annotation_index: int
    annotation: dict[str, Any]


class ResponseRefusalDeltaEvent(PartEvent, kw_only=True, tag="response.refusal.delta"):
    """A piece of a refusal."""

    delta: str


class ResponseRefusalDoneEvent(PartEvent, kw_only=True, tag="response.refusal.done"):
    """The complete refusal."""

    refusal: str


class ResponseReasoningTextDeltaEvent(PartEvent, kw_only=True, tag="response.reasoning_text.delta"):
    """A piece of raw reasoning."""

    delta: str


class ResponseReasoningTextDoneEvent(PartEvent, kw_only=True, tag="response.reasoning_text.done"):
    """The complete reasoning of the part."""

    text: str


class SummaryEvent(ItemEvent, kw_only=True):
    """An event of one part of a reasoning summary."""

    item_id: str
    summary_index: int


class ResponseReasoningSummaryPartAddedEvent(
    SummaryEvent, kw_only=True, tag="response.reasoning_summary_part.added"
):
    """An empty summary part was opened."""

    part: AnyPart


class ResponseReasoningSummaryPartDoneEvent(
    SummaryEvent, kw_only=True, tag="response.reasoning_summary_part.done"
):
    """A complete summary part was closed."""

    part: AnyPart


class ResponseReasoningSummaryTextDeltaEvent(
    SummaryEvent, kw_only=True, tag="response.reasoning_summary_text.delta"
):
    """A piece of a summary."""

    delta: str
    obfuscation: str | UnsetType = UNSET


class ResponseReasoningSummaryTextDoneEvent(
    SummaryEvent, kw_only=True, tag="response.reasoning_summary_text.done"
):
    """The complete text of the summary part."""

    text: str


class ResponseFunctionCallArgumentsDeltaEvent(
    ItemEvent, kw_only=True, tag="response.function_call_arguments.delta"
):
    """A piece of the arguments of a call."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class ResponseFunctionCallArgumentsDoneEvent(
    ItemEvent, kw_only=True, tag="response.function_call_arguments.done"
):
    """The complete arguments of the call."""

    item_id: str
    arguments: str


class ResponseCustomToolCallInputDeltaEvent(
    ItemEvent, kw_only=True, tag="response.custom_tool_call_input.delta"
):
    """A piece of the input of a custom tool."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class ResponseCustomToolCallInputDoneEvent(
    ItemEvent, kw_only=True, tag="response.custom_tool_call_input.done"
):
    """The complete input of the custom tool."""

    item_id: str
    input: str


class CommandEvent(ItemEvent, kw_only=True):
    """An event of one command of a shell call."""

    command_index: int


class ResponseShellCallCommandAddedEvent(
    CommandEvent, kw_only=True, tag="response.shell_call_command.added"
):
    """An empty command was opened."""

    command: str


class ResponseShellCallCommandDeltaEvent(
    CommandEvent, kw_only=True, tag="response.shell_call_command.delta"
):
    """A piece of a command."""

    delta: str
    obfuscation: str | UnsetType = UNSET


class ResponseShellCallCommandDoneEvent(
    CommandEvent, kw_only=True, tag="response.shell_call_command.done"
):
    """The complete command."""

    command: str


class ResponseApplyPatchCallOperationDiffDeltaEvent(
    ItemEvent, kw_only=True, tag="response.apply_patch_call_operation_diff.delta"
):
    """A piece of a patch."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class ResponseApplyPatchCallOperationDiffDoneEvent(
    ItemEvent, kw_only=True, tag="response.apply_patch_call_operation_diff.done"
):
    """The complete patch."""

    item_id: str
    diff: str


class ResponseMcpCallArgumentsDeltaEvent(
    ItemEvent, kw_only=True, tag="response.mcp_call_arguments.delta"
):
    """A piece of the arguments of an MCP server's tool."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class ResponseMcpCallArgumentsDoneEvent(
    ItemEvent, kw_only=True, tag="response.mcp_call_arguments.done"
):
    """The complete arguments."""

    item_id: str
    arguments: str


class ResponseCodeInterpreterCallCodeDeltaEvent(
    ItemEvent, kw_only=True, tag="response.code_interpreter_call_code.delta"
):
    """A piece of the code that the backend runs."""

    item_id: str
    delta: str
    obfuscation: str | UnsetType = UNSET


class ResponseCodeInterpreterCallCodeDoneEvent(
    ItemEvent, kw_only=True, tag="response.code_interpreter_call_code.done"
):
    """The complete code."""

    item_id: str
    code: str


class ResponseShellCallOutputContentDeltaEvent(
    CommandEvent, kw_only=True, tag="response.shell_call_output_content.delta"
):
    """Output of a command that the backend ran: `{stdout}`, `{stderr}` or both."""

    item_id: str
    delta: dict[str, str]


class ResponseShellCallOutputContentDoneEvent(
    CommandEvent, kw_only=True, tag="response.shell_call_output_content.done"
):
    """The complete output of a command, and how it ended."""

    item_id: str
    output: list[Any]


class ResponseImageGenCallPartialImageEvent(
    ItemEvent, kw_only=True, tag="response.image_generation_call.partial_image"
):
    """A partial image, in base64."""

    item_id: str
    partial_image_index: int
    partial_image_b64: str
    background: str | UnsetType = UNSET
    output_format: str | UnsetType = UNSET
    quality: str | UnsetType = UNSET
    size: str | UnsetType = UNSET


class StepEvent(ItemEvent, kw_only=True):
    """A tool that the backend runs reached the next step."""

    item_id: str


STEPS: dict[str, tuple[str, ...]] = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_list_tools": ("in_progress", "completed", "failed"),
    "mcp_call": ("in_progress", "completed", "failed"),
}
"""The steps of each such tool's item, in order; `failed` replaces `completed` if it is listed."""


def _step(kind: str, step: str) -> Any:
    words = f"{kind}_{step}".replace("generation", "gen").split(
        "_"
    )  # as OpenAI's package abbreviates it
    name = f"Response{''.join(word.title() for word in words)}Event"
    tag = f"response.{kind}.{step}"
    return defstruct(
        name,
        (),
        bases=(StepEvent,),
        module=__name__,
        kw_only=True,
        gc=False,
        tag_field="type",
        tag=tag,
    )


STEP_EVENTS: dict[tuple[str, str], type[StepEvent]] = {
    (kind, step): _step(kind, step) for kind, steps in STEPS.items() for step in steps
}
"""The event of each step: `response.web_search_call.searching` and so on."""


class ResponseCompactionCompactingEvent(
    ItemEvent, kw_only=True, tag="response.compaction.compacting"
):
    """The context before this is being compacted."""

    item_id: str


class ResponseSteerAcceptedEvent(Event, kw_only=True, tag="response.steer.accepted"):
    """The server accepted the input that a client steered into a response (specification section
    8).
    """

    steer: dict[str, Any]


class ResponseSteerPendingEvent(Event, kw_only=True, tag="response.steer.pending"):
    """The steering waits for the client to answer the calls that the response ended with;
    `required_input` are their stubs.
    """

    reason: str
    required_input: list[dict[str, Any]]
    steer: dict[str, Any]


class ResponseSteerFailedEvent(Event, kw_only=True, tag="response.steer.failed"):
    """The steering failed, and its input is returned to the client."""

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


TERMINAL = (ResponseCompletedEvent, ResponseIncompleteEvent, ResponseFailedEvent)

WITH_RESPONSE = frozenset[type[Event]](
    {ResponseCreatedEvent, ResponseQueuedEvent, ResponseInProgressEvent, *TERMINAL}
)
"""Events with a snapshot of the response."""
