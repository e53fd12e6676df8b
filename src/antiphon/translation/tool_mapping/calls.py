"""A call and its output in Chat's form: a function's name with arguments, and the content of a tool
message.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

import msgspec

from antiphon.protocol.items.calls import (
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
    ShellOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from antiphon.protocol.items.content import InputImage, InputText, Part
from antiphon.protocol.items.hosted import Program, ProgramOutput
from antiphon.protocol.items.messages import FunctionCall, FunctionCallOutput, InputItem
from antiphon.protocol.json_members import decode_value
from antiphon.protocol.tool_bindings import Key, Kind
from antiphon.protocol.tools import AnyTool, McpTool
from antiphon.protocol.validation.call_rules import Call, Output
from antiphon.translation.to_chat_completions.hosted import ServerCall
from antiphon.translation.tool_mapping.offering import Toolbox, fitted

Content = str | list[Any]
"""Text, or parts of content."""


def chat_call(call: Call, toolbox: Toolbox) -> tuple[str, str]:
    """Return the function's name as the backend knows it, and the arguments, which are a JSON
    object: as the model wrote them, if they are one.
    """
    tool, arguments = _CALLS[type(call)]
    kind, name = tool(call)
    return toolbox.name_of(kind, getattr(call, "namespace", None) or "", name), arguments(call)


def called_tools(items: Iterable[InputItem]) -> set[Key]:
    """Return the tools that are called among `items`, as the client knows them."""
    return {_tool_of(item) for item in items if type(item) in _CALLS}


def _tool_of(call: Any) -> Key:
    kind, name = _CALLS[type(call)][0](call)
    return kind, getattr(call, "namespace", None) or "", name


def as_object(arguments: str) -> str:
    """Return arguments that are a JSON object unchanged, none as an empty object, and any others as
    the text in one.

    Backends and chat templates parse the arguments of earlier calls, and reject a request if any of
    them are not a JSON object (cc-switch#5197, #4531, #5001). Models do write such arguments, and
    one call would end its conversation.
    """
    if not arguments.strip():
        return "{}"
    try:
        is_object = isinstance(decode_value(arguments), dict)
    except (msgspec.DecodeError, RecursionError):
        is_object = False
    return arguments if is_object else _json({"arguments": arguments})


def output_of(output: Output) -> Content:
    """Return an output as the model reads it."""
    return _OUTPUTS[type(output)](output)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _computer(call: ComputerCall) -> tuple[Kind, str]:
    if call.actions:
        return "computer", "computer"
    return "computer_use_preview", "computer_use_preview"


_CALLS: dict[type, tuple[Callable[[Any], tuple[Kind, str]], Callable[[Any], str]]] = {
    FunctionCall: (
        lambda call: ("function", call.name),
        lambda call: as_object(call.arguments),
    ),
    ServerCall: (
        lambda call: (call.kind, call.name),
        lambda call: as_object(call.arguments),
    ),
    CustomToolCall: (
        lambda call: ("custom", call.name),
        lambda call: _json({"input": call.input}),
    ),
    ToolSearchCall: (
        lambda call: ("tool_search", "tool_search"),
        lambda call: as_object(
            call.arguments if isinstance(call.arguments, str) else _json(call.arguments)
        ),
    ),
    LocalShellCall: (
        lambda call: ("local_shell", "local_shell"),
        lambda call: _json(
            {
                name: value
                for name, value in call.action.items()
                if name != "type" and value is not None
            }
        ),
    ),
    ShellCall: (
        lambda call: ("shell", "shell"),
        lambda call: _json(
            {
                name: value
                for name, value in msgspec.to_builtins(call.action).items()
                if value is not None
            }
        ),
    ),
    ApplyPatchCall: (
        lambda call: ("apply_patch", "apply_patch"),
        lambda call: _json(call.operation),
    ),
    ComputerCall: (
        _computer,
        lambda call: _json({"actions": call.actions} if call.actions else call.action or {}),
    ),
    Program: (lambda call: ("function", "program"), lambda call: _json({"code": call.code})),
}
"""For each type, the kind and the name of the tool, and the arguments, as a JSON object."""


def _found(output: ToolSearchOutput) -> str:
    names = [name for tool in output.tools for name in _names(tool)]
    return (
        f"Found, and callable from now on: {', '.join(names)}." if names else "Nothing was found."
    )


def _names(tool: AnyTool) -> list[str]:
    if isinstance(tool, McpTool) and isinstance(tool.allowed_tools, list):
        return [fitted("mcp", tool.server_label, name) for name in tool.allowed_tools]
    return [str(getattr(tool, "name", tool.__struct_config__.tag))]


def _printed(output: ShellCallOutput) -> str:
    return "\n".join(_one_printed(each) for each in output.output)


def _one_printed(output: ShellOutput) -> str:
    code = output.outcome.get("exit_code")
    ended = f"[exit code {code}]" if output.outcome.get("type") == "exit" else "[timed out]"
    return "\n".join(filter(None, (output.stdout.rstrip("\n"), output.stderr.rstrip("\n"), ended)))


def _screen(output: ComputerCallOutput) -> list[Part]:
    displayed = output.output
    image = InputImage(
        image_url=displayed.image_url, file_id=displayed.file_id, detail=displayed.detail
    )
    return [InputText(text="The screen now:"), image]


_OUTPUTS: dict[type, Callable[[Any], Content]] = {
    FunctionCallOutput: attrgetter("output"),
    CustomToolCallOutput: attrgetter("output"),
    ToolSearchOutput: _found,
    LocalShellCallOutput: attrgetter("output"),
    ShellCallOutput: _printed,
    ApplyPatchCallOutput: lambda output: output.output or f"The patch is {output.status}.",
    ComputerCallOutput: _screen,
    ProgramOutput: lambda output: output.result,
}
