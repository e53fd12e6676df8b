"""The rules between fields, for a request with fields that are each valid on their own
(specification section 13).

They run on every request, in the order of the fields, and cost almost nothing for a valid request.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec import UNSET

from antiphon.errors import ClientError
from antiphon.protocol.formats import JsonSchemaFormat
from antiphon.protocol.items.calls import (
    AdditionalTools,
    ComputerCallOutput,
    ComputerScreenshot,
    CustomToolCall,
    CustomToolCallOutput,
    LocalShellCallOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from antiphon.protocol.items.content import (
    InputFile,
    InputImage,
    InputText,
    Item,
    OutputText,
    Refusal,
)
from antiphon.protocol.items.hosted import McpListTools
from antiphon.protocol.items.messages import (
    CompactionTrigger,
    FunctionCall,
    FunctionCallOutput,
    ItemReference,
    Message,
    Reasoning,
)
from antiphon.protocol.requests import (
    SOONEST,
    CreateResponse,
    PromptedRequest,
    PromptParam,
    background_window,
)
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.tools import (
    AllowedTools,
    CustomChoice,
    CustomTool,
    FunctionChoice,
    FunctionTool,
    NamespaceTool,
    Tool,
    ToolSearchTool,
)
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.media import check_file, check_image
from antiphon.protocol.validation.schema_rules import check_text_schema
from antiphon.protocol.validation.tool_rules import check_tools

INPUT_PARTS: dict[type, str] = {
    InputText: "input_text",
    InputImage: "input_image",
    InputFile: "input_file",
}
OUTPUT_PARTS: dict[type, str] = {OutputText: "output_text", Refusal: "refusal"}
_TAGS = INPUT_PARTS | OUTPUT_PARTS

ID_BEGINNINGS: dict[type[Item], str] = {
    Message: "msg",
    FunctionCall: "fc",
    FunctionCallOutput: "fc",
    Reasoning: "rs",
    CustomToolCall: "ctc",
    CustomToolCallOutput: "ctc",
    ToolSearchCall: "ts",
    ToolSearchOutput: "ts",
}
"""The required prefix of an id that a client sends. It is shorter than ours: Codex creates ids of
its own.
"""

_PART_RULES: dict[type, Callable[[Any, str], None]] = {
    InputImage: check_image,
    InputFile: check_file,
}


RULED = frozenset(
    {
        "previous_response_id",
        "conversation",
        "tools",
        "tool_choice",
        "text",
        "stream_options",
        "reasoning",
        "prompt",
    }
    | {"prompt_cache_options", "background_options"}
)
"""The parameters with rules beyond their types, in addition to `input`, which has them unless it is
a text.
"""


def check_request(request: CreateResponse) -> None:
    """Raise `ClientError` (400) for the first rule that the request violates.

    A text as `input` without any of the parameters in `RULED` violates none, so it need not be
    checked.
    """
    if request.conversation is not None and request.previous_response_id is not None:
        raise ClientError(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. "
            "Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
            code="mutually_exclusive_parameters",
            param="previous_response_id",
        )
    if request.previous_response_id is not None:
        _check_beginning(request.previous_response_id, "resp", "previous_response_id")
    elif request.conversation is not None:
        _check_beginning(str(request.conversation_id), "conv", "conversation")
    _check_input(request)
    if request.tools and not isinstance(request.tools, ToolList):
        check_tools(request.tools, "tools")
        _check_deferred(request.tools)
    if request.tool_choice is not None:
        _check_tool_choice(request)
    if request.text is not None and isinstance(request.text.format, JsonSchemaFormat):
        check_text_schema(request.text.format)
    if request.stream_options is not None and not request.stream:
        raise ClientError(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            code="invalid_value",
            param="stream_options",
        )
    if request.background_options is not None:
        _check_window(request)
    if request.reasoning is not None and request.reasoning.mode == "pro":
        raise refusals.unsupported_value("reasoning.mode", "pro", ["standard"])
    if request.prompt is not None:
        _check_prompt(request.prompt)
    if request.prompt_cache_options is not None:
        _check_cache_options(request.prompt_cache_options)


def _check_cache_options(options: dict[str, Any]) -> None:
    """Check the options that this server applies; it forwards the others."""
    path = "prompt_cache_options."
    prewarm, compared = (options.get(name) for name in ("prewarm", "comparison_response_id"))
    if not isinstance(prewarm, bool | None):
        raise refusals.invalid_type(f"{path}prewarm", ["boolean"], prewarm)
    if not isinstance(compared, str | None):
        raise refusals.invalid_type(f"{path}comparison_response_id", ["string"], compared)
    if compared is not None:
        _check_beginning(compared, "resp", f"{path}comparison_response_id")


def _check_window(request: CreateResponse) -> None:
    """Check that a response with a window of hours runs in the background, without a stream, at the
    standard tier.
    """
    window = background_window(request)
    if window == SOONEST:
        return
    conflicts = {
        "requires 'background' to be true": not request.background,
        "cannot be combined with 'stream'": bool(request.stream),
        "requires the 'service_tier' 'auto' or 'default'": request.service_tier
        not in (None, "auto", "default"),
    }
    for reason, holds in conflicts.items():
        if holds:
            raise ClientError(
                f"Invalid value: '{window}'. A 'completion_window' of '{window}' {reason}.",
                code="invalid_value",
                param="background_options.completion_window",
            )


def _check_prompt(prompt: PromptParam) -> None:
    for name, value in (prompt.variables or {}).items():
        if (rule := _PART_RULES.get(type(value))) is not None:
            rule(value, f"prompt.variables.{refusals.quoted(name)}")


def _check_input(request: CreateResponse) -> None:
    has_history = request.previous_response_id is not None or request.conversation is not None
    has_history = (
        has_history or request.prompt is not None
    )  # the model can answer the messages of a prompt
    if request.input is UNSET:
        if not has_history:
            raise refusals.missing("input")
        return
    if not request.input and not has_history:
        raise ClientError(
            """One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided.""",  # noqa: E501 - one text, or a row of a table
            code="missing_required_parameter",
        )
    if not isinstance(request.input, str):
        check_items(request.input)
        _check_trigger(request.input)


def check_items(items: list[Any], param: str = "input") -> None:
    """Check each item of `input`, or of another parameter, on its own, and that no id appears
    twice.
    """
    seen: set[str] = set()
    for i, item in enumerate(items):
        kind = type(item)
        item_id = item.id
        if item_id and kind is not LocalShellCallOutput:  # its id is that of its call
            beginning = ID_BEGINNINGS.get(kind, "")
            if not item_id.startswith(beginning):
                _check_beginning(item_id, beginning, f"{param}[{i}].id")
            if item_id in seen:
                raise _duplicate(item_id, param)
            seen.add(item_id)
        rule = _ITEM_RULES.get(kind)
        if rule is not None:
            rule(item, f"{param}[{i}]")


def _check_beginning(value: str, prefix: str, path: str) -> None:
    if not value.startswith(prefix):
        raise ClientError(
            f"Invalid '{path}': '{refusals.quoted(value)}'. "
            f"Expected an ID that begins with '{prefix}'.",
            code="invalid_value",
            param=path,
        )


def _duplicate(item_id: str, param: str) -> ClientError:
    return ClientError(
        f"Duplicate item found with id {refusals.quoted(item_id)}. "
        "Remove duplicate items from your input and try again.",
        param=param,
    )


def _check_message(item: Message, path: str) -> None:
    if type(item.content) is not str:
        allowed = OUTPUT_PARTS if item.role == "assistant" else INPUT_PARTS
        _check_parts(item.content, allowed, f"{path}.content")
    if item.phase and item.role != "assistant":
        # accepted on any role, and used only on the assistant's (specification section 23)
        item.phase = UNSET


def _check_list(item: McpListTools, path: str) -> None:
    """Tools are distinguished by their names; the other fields are the server's, whatever they
    are.
    """
    for i, tool in enumerate(item.tools):
        if "name" not in tool:
            raise refusals.missing(f"{path}.tools[{i}].name")
        if not isinstance(tool["name"], str):
            raise refusals.invalid_type(f"{path}.tools[{i}].name", ["string"], tool["name"])


def _check_output(item: FunctionCallOutput | CustomToolCallOutput, path: str) -> None:
    if not item.call_id and not item.name:
        raise refusals.missing(f"{path}.call_id")
    if type(item.output) is not str:
        _check_parts(item.output, INPUT_PARTS, f"{path}.output")


def _check_screen(item: ComputerCallOutput, path: str) -> None:
    _check_screenshot(item.output, f"{path}.output")


def _check_screenshot(displayed: ComputerScreenshot, path: str) -> None:
    check_image(
        InputImage(
            image_url=displayed.image_url, file_id=displayed.file_id, detail=displayed.detail
        ),
        path,
    )


def _check_parts(parts: Any, allowed: dict[type, str], path: str) -> None:
    for i, part in enumerate(parts):
        kind = type(part)
        if kind not in allowed:
            raise refusals.invalid_value(f"{path}[{i}].type", _TAGS[kind], allowed.values())
        rule = _PART_RULES.get(kind)
        if rule is not None:
            rule(part, f"{path}[{i}]")


def _check_reference(item: ItemReference, path: str) -> None:
    if not item.id:
        raise refusals.empty(f"{path}.id", "string")


_ITEM_RULES: dict[type, Callable[[Any, str], None]] = {
    Message: _check_message,
    FunctionCallOutput: _check_output,
    CustomToolCallOutput: _check_output,
    ComputerCallOutput: _check_screen,
    AdditionalTools: lambda item, path: check_tools(item.tools, f"{path}.tools"),
    ToolSearchOutput: lambda item, path: check_tools(item.tools, f"{path}.tools"),
    ItemReference: _check_reference,
    McpListTools: _check_list,
}


def _check_trigger(items: list[Any]) -> None:
    if CompactionTrigger not in map(type, items):
        return
    for i, item in enumerate(items[:-1]):
        if isinstance(item, CompactionTrigger):
            text = f"Invalid 'input[{i}]': 'compaction_trigger' must be the last item of the input."
            raise ClientError(text, code="invalid_value", param=f"input[{i}]")


def _check_deferred(tools: Sequence[Tool]) -> None:
    if any(isinstance(tool, ToolSearchTool) for tool in tools):
        return
    for i, tool in enumerate(tools):
        inner = tool.tools if isinstance(tool, NamespaceTool) else [tool]
        if any(getattr(each, "defer_loading", None) for each in inner):
            raise refusals.invalid(
                f"tools[{i}].defer_loading", "deferred tools need a tool of type 'tool_search'."
            )


_CHOICES = {FunctionTool: FunctionChoice, CustomTool: CustomChoice}


def _check_tool_choice(request: CreateResponse) -> None:
    """Check the choice if the request itself has all tools; those in the history are not known
    yet.
    """
    choice = request.tool_choice
    if choice in ("auto", "none"):
        return
    tools = list(requested_tools(request))
    if request.previous_response_id is not None or request.conversation is not None:
        return
    if request.prompt is not None and not isinstance(request, PromptedRequest):
        return
    if choice == "required" and not tools:
        raise _bad_choice("Tool choice 'required' must be specified with 'tools' parameter.")
    names = {
        (_CHOICES[type(tool)], tool.name)
        for tool in tools
        if isinstance(tool, FunctionTool | CustomTool)
    }
    wanted = choice.tools if isinstance(choice, AllowedTools) else [choice]
    for tool in wanted:
        if isinstance(tool, FunctionChoice | CustomChoice) and (type(tool), tool.name) not in names:
            raise _bad_choice(
                f"Tool choice '{refusals.quoted(tool.name)}' not found in 'tools' parameter."
            )


def requested_tools(request: CreateResponse) -> Iterator[Tool]:
    """Return the tools of a request, in `tools` and inside its input, those of namespaces one by
    one.
    """
    lists: list[Sequence[Tool]] = [request.tools or ()]
    if isinstance(request.input, list):
        lists += [
            item.tools
            for item in request.input
            if isinstance(item, AdditionalTools | ToolSearchOutput)
        ]
    for tool in chain.from_iterable(lists):
        yield from tool.tools if isinstance(tool, NamespaceTool) else (tool,)


def _bad_choice(message: str) -> ClientError:
    return ClientError(message, param="tool_choice")
