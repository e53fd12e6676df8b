"""Function tools and the choice among them, in the forms that a dialect takes."""

from collections.abc import Sequence
from typing import Any

from antiphon.chat.dialects import Dialect
from antiphon.errors import ClientError
from antiphon.protocol.tools import AllowedTools, FunctionChoice, FunctionTool, ToolChoice

NO_PARAMETERS = {"type": "object", "properties": {}}

Choice = str | dict[str, Any] | None


def chat_tools(tools: Sequence[FunctionTool], dialect: Dialect) -> list[dict[str, Any]]:
    """Return the `tools` of a Chat request."""
    return [{"type": "function", "function": _function(tool, dialect)} for tool in tools]


def _function(tool: FunctionTool, dialect: Dialect) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = NO_PARAMETERS if tool.parameters is None else tool.parameters
    # Chat's default is not strict, and llama.cpp refuses loose schemas where strict is said (lesson L48).
    if tool.strict and dialect.strict:
        function["strict"] = True
    return function


def tool_choice(
    tools: Sequence[FunctionTool], choice: ToolChoice | None, dialect: Dialect
) -> tuple[list[FunctionTool], Choice]:
    """Return the tools to send and the `tool_choice` beside them, None where it says nothing.

    What the dialect cannot say is done by sending only the tools that may be called. Raises `ClientError` where the
    choice names no tool of the request, or forces a call on a backend that cannot be forced.
    """
    if isinstance(choice, FunctionChoice):
        return _named(list(tools), choice, dialect)
    if isinstance(choice, AllowedTools):
        return _allowed(list(tools), choice, dialect)
    return _mode(list(tools), choice, dialect)


def _mode(tools: list[FunctionTool], mode: str | None, dialect: Dialect) -> tuple[list[FunctionTool], Choice]:
    if mode is None or "tool_choice" in dialect.accepts:
        return tools, mode
    if mode == "required":
        raise ClientError(
            "Unsupported value: 'required' is not supported with this model.",
            code="unsupported_value",
            param="tool_choice",
        )
    return ([] if mode == "none" else tools), None


def _named(tools: list[FunctionTool], choice: FunctionChoice, dialect: Dialect) -> tuple[list[FunctionTool], Choice]:
    only = _pick(tools, [choice.name])
    if dialect.tool_choice == "strings" or "tool_choice" not in dialect.accepts:
        return _mode(only, "required", dialect)
    return tools, {"type": "function", "function": {"name": choice.name}}


def _allowed(tools: list[FunctionTool], choice: AllowedTools, dialect: Dialect) -> tuple[list[FunctionTool], Choice]:
    names = [each.name for each in choice.tools]
    allowed = _pick(tools, names)
    if dialect.tool_choice != "full" or "tool_choice" not in dialect.accepts:
        return _mode(allowed, choice.mode, dialect)
    listed = [{"type": "function", "function": {"name": name}} for name in names]
    return tools, {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": listed}}


def _pick(tools: list[FunctionTool], names: list[str]) -> list[FunctionTool]:
    missing = set(names) - {tool.name for tool in tools}
    if missing:
        raise ClientError(f"Tool choice '{min(missing)}' not found in 'tools' parameter.", param="tool_choice")
    return [tool for tool in tools if tool.name in names]
