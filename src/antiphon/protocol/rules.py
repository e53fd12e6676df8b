"""The rules between fields, for a request whose fields are each right by themselves (specification section 13).

They run on every request, in the order of the fields, and cost next to nothing where there is nothing to object to.
"""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from antiphon.errors import ClientError
from antiphon.protocol import refusals
from antiphon.protocol.items import (
    FunctionCall,
    FunctionCallOutput,
    InputFile,
    InputImage,
    InputText,
    Item,
    ItemReference,
    Message,
    OutputText,
    Reasoning,
    Refusal,
)
from antiphon.protocol.media import check_file, check_image
from antiphon.protocol.requests import CreateResponse, JsonSchemaFormat
from antiphon.protocol.schema_rules import check_function_schema, check_text_schema
from antiphon.protocol.tools import AllowedTools, FunctionChoice, FunctionTool

INPUT_PARTS: dict[type, str] = {InputText: "input_text", InputImage: "input_image", InputFile: "input_file"}
OUTPUT_PARTS: dict[type, str] = {OutputText: "output_text", Refusal: "refusal"}
_TAGS = INPUT_PARTS | OUTPUT_PARTS

ID_BEGINNINGS: dict[type[Item], str] = {Message: "msg", FunctionCall: "fc", FunctionCallOutput: "fc", Reasoning: "rs"}
"""How an id that a client sends must begin. It is shorter than what we write: Codex makes up ids of its own."""

_PART_RULES: dict[type, Callable[[Any, str], None]] = {InputImage: check_image, InputFile: check_file}


def check_request(request: CreateResponse) -> None:
    """Raise `ClientError` (400) for the first rule that the request breaks."""
    if request.conversation is not None and request.previous_response_id is not None:
        raise ClientError(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. "
            "Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
            code="mutually_exclusive_parameters",
            param="previous_response_id",
        )
    _check_input(request)
    _check_tools(request.tools or [])
    _check_tool_choice(request)
    if request.text is not None and isinstance(request.text.format, JsonSchemaFormat):
        check_text_schema(request.text.format)
    if request.stream_options is not None and not request.stream:
        raise ClientError(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            code="invalid_value",
            param="stream_options",
        )
    if request.reasoning is not None and request.reasoning.mode == "pro":
        raise refusals.value_not_served("reasoning.mode", "pro", ["standard"])


def _check_input(request: CreateResponse) -> None:
    has_history = request.previous_response_id is not None or request.conversation is not None
    if request.input is UNSET:
        if not has_history:
            raise refusals.missing("input")
        return
    if not request.input and not has_history:
        raise ClientError(
            """One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided.""",
            code="missing_required_parameter",
        )
    if not isinstance(request.input, str):
        check_items(request.input)


def check_items(items: list[Any], param: str = "input") -> None:
    """Check each item of `input`, or of another parameter, by itself, and that no id stands twice."""
    seen: set[str] = set()
    for i, item in enumerate(items):
        path = f"{param}[{i}]"
        if item.id:
            _check_id(item, path, seen, param)
        rule = _ITEM_RULES.get(type(item))
        if rule is not None:
            rule(item, path)


def _check_id(item: Any, path: str, seen: set[str], param: str) -> None:
    prefix = ID_BEGINNINGS.get(type(item), "")
    if not item.id.startswith(prefix):
        raise ClientError(
            f"Invalid '{path}.id': '{refusals.shown(item.id)}'. Expected an ID that begins with '{prefix}'.",
            code="invalid_value",
            param=f"{path}.id",
        )
    if item.id in seen:
        raise ClientError(
            f"Duplicate item found with id {refusals.shown(item.id)}. "
            "Remove duplicate items from your input and try again.",
            param=param,
        )
    seen.add(item.id)


def _check_message(item: Message, path: str) -> None:
    if type(item.content) is not str:
        allowed = OUTPUT_PARTS if item.role == "assistant" else INPUT_PARTS
        _check_parts(item.content, allowed, f"{path}.content")
    if item.phase and item.role != "assistant":
        raise refusals.unknown(f"{path}.phase")


def _check_output(item: FunctionCallOutput, path: str) -> None:
    if type(item.output) is not str:
        _check_parts(item.output, INPUT_PARTS, f"{path}.output")


def _check_parts(parts: Any, allowed: dict[type, str], path: str) -> None:
    for i, part in enumerate(parts):
        kind = type(part)
        if kind not in allowed:
            raise refusals.invalid_value(f"{path}[{i}].type", _TAGS[kind], allowed.values())
        rule = _PART_RULES.get(kind)
        if rule is not None:
            rule(part, f"{path}[{i}]")


def _check_call(item: FunctionCall, path: str) -> None:
    if item.async_:
        raise refusals.value_not_served(f"{path}.async", "true", ["false"])


def _check_reference(item: ItemReference, path: str) -> None:
    if not item.id:
        raise refusals.empty(f"{path}.id", "string")


_ITEM_RULES: dict[type, Callable[[Any, str], None]] = {
    Message: _check_message,
    FunctionCall: _check_call,
    FunctionCallOutput: _check_output,
    ItemReference: _check_reference,
}


def _check_tools(tools: list[FunctionTool]) -> None:
    names: set[str] = set()
    for i, tool in enumerate(tools):
        path = f"tools[{i}]"
        if tool.name in names:
            raise refusals.invalid(f"{path}.name", f"'{tool.name}' is the name of another tool. Expected unique names.")
        names.add(tool.name)
        check_function_schema(tool, path)
        for name, value in (("async", tool.async_), ("defer_loading", tool.defer_loading)):
            if value:
                raise refusals.value_not_served(f"{path}.{name}", "true", ["false"])


def _check_tool_choice(request: CreateResponse) -> None:
    choice, names = request.tool_choice, {tool.name for tool in request.tools or ()}
    if choice == "required" and not names:
        raise _bad_choice("Tool choice 'required' must be specified with 'tools' parameter.")
    wanted = choice.tools if isinstance(choice, AllowedTools) else [choice]
    for tool in wanted:
        if isinstance(tool, FunctionChoice) and tool.name not in names:
            raise _bad_choice(f"Tool choice '{refusals.shown(tool.name)}' not found in 'tools' parameter.")


def _bad_choice(message: str) -> ClientError:
    return ClientError(message, param="tool_choice")
