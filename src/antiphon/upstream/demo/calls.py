"""Which of the given tools `demo` calls, and with what."""

import json
import re
from typing import Any

from antiphon.errors import ClientError
from antiphon.upstream.demo.example import NoExampleError, example_of

Call = tuple[str, str]
"""A function's name, and its arguments as JSON."""

Functions = dict[str, dict[str, Any]]
"""Functions by their names, in the order given."""


def calls(request: dict[str, Any], text: str, *, answered: bool) -> list[Call]:
    """Return the calls to make: the functions that the user's text names, else the first; none where none may be.

    Where tools have `answered`, more is called only where a call is required.

    Raises `ClientError` for a tool that is no function, a choice of a function that is not there, and a schema of
    which no example is found.
    """
    offered, choice = _chosen(_functions(request), request.get("tool_choice"))
    if choice == "none" or not offered or (choice == "auto" and answered):
        return []
    named = [name for name in offered if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)]
    most = 1 if request.get("parallel_tool_calls") is False or not named else len(named)
    return [(name, _arguments(name, offered[name], text)) for name in (named or list(offered))[:most]]


def _functions(request: dict[str, Any]) -> Functions:
    tools = request.get("tools") or []
    return {_name(tool, f"tools[{place}]"): tool["function"] for place, tool in enumerate(tools)}


def _chosen(functions: Functions, choice: Any) -> tuple[Functions, str]:
    """Return the functions that may be called, and whether that is `none`, `auto` or `required`."""
    if not isinstance(choice, dict):
        return functions, choice or "auto"
    allowed = choice.get("allowed_tools")
    tools = allowed.get("tools") if isinstance(allowed, dict) else [choice]
    names = {_name(tool, "tool_choice") for tool in tools or ()}
    if missing := names - functions.keys():
        raise _invalid(f"Tool choice '{min(missing)}' not found in 'tools' parameter.", "tool_choice")
    mode = allowed.get("mode") if isinstance(allowed, dict) else "required"
    return {name: function for name, function in functions.items() if name in names}, mode or "auto"


def _name(tool: Any, path: str) -> str:
    """Return the name of a tool or a choice, which must be a function: there are no other kinds here."""
    function = tool.get("function") if isinstance(tool, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise _invalid(f"Invalid '{path}': demo calls functions only, and each must have a name.", path)
    return name


def _arguments(name: str, function: dict[str, Any], text: str) -> str:
    parameters = function.get("parameters")
    schema = {"type": "object", **(parameters if isinstance(parameters, dict) else {})}
    try:
        # The name of a function is no word that an argument would hold.
        return json.dumps(example_of(schema, re.sub(re.escape(name), "", text, flags=re.IGNORECASE)))
    except NoExampleError as error:
        raise _invalid(f"Invalid schema for function '{name}': {error}", "tools") from None


def _invalid(message: str, param: str) -> ClientError:
    return ClientError(message, code="invalid_value", param=param)
