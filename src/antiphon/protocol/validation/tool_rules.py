"""The rules for tools, wherever they are sent: names, schemas, grammars, addresses (specification
sections 6, 13).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from antiphon.errors import ClientError
from antiphon.extras import missing
from antiphon.protocol.grammars import unsound
from antiphon.protocol.tools import CustomTool, FunctionTool, Grammar, McpTool, NamespaceTool, Tool
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.schema_rules import check_function_schema

ALL_GRAMMARS = 400_000
"""Characters of all grammars together: a compiler needs about 40 ms for each 100,000."""


def check_tools(tools: Sequence[Tool], path: str) -> None:
    """Raise `ClientError` (400) for the first tool that violates a rule; `path` is that of the
    list.
    """
    known: set[tuple[str, str]] = set()
    _check_grammars(tools, path)
    for i, tool in enumerate(tools):
        place = f"{path}[{i}]"
        _check_name(tool, known, place)
        rule = _RULES.get(type(tool))
        if rule is not None:
            rule(tool, place)


def _check_grammars(tools: Sequence[Tool], path: str) -> None:
    formats = [each.format for each in _flat(tools) if isinstance(each, CustomTool)]
    size = sum(len(each.definition) for each in formats if isinstance(each, Grammar))
    if size > ALL_GRAMMARS:
        raise refusals.invalid(
            path, f"grammars of {size} characters. Expected at most {ALL_GRAMMARS} in all."
        )


def _flat(tools: Sequence[Tool]) -> Iterator[Tool]:
    for tool in tools:
        yield from tool.tools if isinstance(tool, NamespaceTool) else (tool,)


def _check_name(tool: Tool, known: set[tuple[str, str]], path: str) -> None:
    field, group = _NAMED.get(type(tool), ("", ""))
    if not field:
        return
    name = getattr(tool, field)
    if (group, name) in known:
        raise refusals.invalid(
            f"{path}.{field}", f"'{name}' is the name of another tool. Expected unique names."
        )
    known.add((group, name))


_NAMED: dict[type, tuple[str, str]] = {
    FunctionTool: ("name", "callable"),
    CustomTool: ("name", "callable"),
    NamespaceTool: ("name", "namespace"),
    McpTool: ("server_label", "server"),
}
"""The field that distinguishes a tool from others of its group."""


def _check_custom(tool: CustomTool, path: str) -> None:
    if not isinstance(tool.format, Grammar):
        return
    if error := missing("grammar", "Grammars of custom tools", f"{path}.format"):
        raise error
    wrong = unsound(tool.format)
    if wrong:
        text = f"Invalid grammar for custom tool '{tool.name}': {wrong}"
        raise ClientError(text, code="invalid_grammar", param=f"{path}.format.definition")


def _check_namespace(tool: NamespaceTool, path: str) -> None:
    check_tools(tool.tools, f"{path}.tools")


def _check_mcp(tool: McpTool, path: str) -> None:
    if not tool.server_url:
        return  # the settings can have a server with that label
    if tool.server_url.startswith("agent:"):
        return  # its agent accepts it, and nothing else does
    try:
        parts = urlsplit(tool.server_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or "@" in parts.netloc or "\\" in tool.server_url:
        raise refusals.invalid(
            f"{path}.server_url", "expected an HTTP address without a user's name in it."
        )


_RULES: dict[type, Callable[[Any, str], None]] = {
    FunctionTool: check_function_schema,
    CustomTool: _check_custom,
    NamespaceTool: _check_namespace,
    McpTool: _check_mcp,
}
