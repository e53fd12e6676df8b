"""Which tools of an MCP server the model is offered, and which of them need the client's approval
(section 6, `mcp`).

A server's tools are listed once, by an `mcp_list_tools` item; from then on the conversation itself
contains them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from antiphon.protocol.items.hosted import (
    McpApprovalRequest,
    McpApprovalResponse,
    McpListTools,
    is_read_only,
)
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.tool_bindings import Offer
from antiphon.protocol.tools import ApprovalRule, FunctionTool, McpTool, ToolFilter

Definition = Mapping[str, Any]
"""One tool as its server describes it: `{name, description, input_schema, annotations}`."""

MOST = 512
"""Tools of one server that are offered to the model at once; with more, no model could choose."""

LONGEST_DESCRIPTION = 4096
"""Characters of a tool's description that the model reads."""


def lists_in(items: Iterable[InputItem]) -> dict[str, McpListTools]:
    """Return each server's newest list of tools, by its label."""
    return {
        item.server_label: item
        for item in items
        if isinstance(item, McpListTools) and not item.error
    }


def changed_in(items: Iterable[InputItem]) -> dict[tuple[str, str], bool]:
    """Return the tools, each as (label, name), that differ from what the client knew of
    them.

    The first description of a server is trusted; a later change or addition is not, once the client
    has approved a call of the server since. Each tool is returned with whether it is new.
    """
    trusted: dict[tuple[str, str], Definition] = {}
    now: dict[str, dict[tuple[str, str], Definition]] = {}
    requested: dict[str, tuple[tuple[str, str], Definition | None]] = {}
    for item in items:
        if isinstance(item, McpListTools) and not item.error:
            listed: dict[tuple[str, str], Definition] = {
                (item.server_label, each["name"]): each for each in item.tools
            }
            if item.server_label not in now:
                trusted |= listed
            now[item.server_label] = listed
        elif isinstance(item, McpApprovalRequest):
            key = (item.server_label, item.name)
            requested[str(item.id)] = key, now.get(item.server_label, {}).get(key)
        elif isinstance(item, McpApprovalResponse) and item.approval_request_id in requested:
            key, definition = requested.pop(item.approval_request_id)  # the first answer counts
            if item.approve and definition is not None:
                trusted[key] = definition
    return {
        key: key not in trusted
        for listed in now.values()
        for key, each in listed.items()
        if trusted.get(key) != each
    }


def is_changed(
    tool: McpTool, definition: Definition, changed: Mapping[tuple[str, str], bool]
) -> bool:
    """Whether a tool differs from what the client knew: a new one can have been named by the client
    itself.
    """
    is_new = changed.get((tool.server_label, definition["name"]))
    return is_new is not None and not (is_new and isinstance(tool.allowed_tools, list))


def permitted(tool: McpTool, definitions: Iterable[Definition]) -> list[Definition]:
    """Return the tools of a server that `allowed_tools` permits."""
    allowed = tool.allowed_tools
    if isinstance(allowed, list):
        names = frozenset(allowed)
        return [each for each in definitions if each["name"] in names]
    if isinstance(allowed, ToolFilter):
        rule = _quick(to_builtins(allowed))
        return [each for each in definitions if _fits(rule, each)]
    return list(definitions)


def too_many(tool: McpTool, definitions: Sequence[Definition]) -> str:
    """Return why so many tools cannot be offered, empty if they can."""
    if tool.defer_loading is True or len(definitions) <= MOST:
        return ""
    return (
        f"The server has {len(definitions)} tools, more than the {MOST} that can be "
        "offered to a model at once. List the tools that you need in 'allowed_tools', "
        "or set 'defer_loading' and add a 'tool_search' tool."
    )


def needs_approval(tool: McpTool, definition: Definition) -> bool:
    """Whether a call of this tool needs an approval.

    Tools that `require_approval` does not mention need one.
    """
    rule = tool.require_approval
    if isinstance(rule, ApprovalRule):
        if rule.always and _fits(to_builtins(rule.always), definition):
            return True
        return not (rule.never and _fits(to_builtins(rule.never), definition))
    return rule != "never"


def is_repeatable(definition: Definition | None) -> bool:
    """Whether a call can be repeated: the tool changes nothing, or nothing more the second time."""
    annotations = (definition or {}).get("annotations")
    if not isinstance(annotations, dict):
        return False
    return is_read_only(annotations) or annotations.get("idempotentHint") is True


def offer_of(tool: McpTool, definition: Definition, *, is_changed: bool = False) -> Offer:
    """Return a server's tool as it is offered to the model.

    One that `is_changed` needs the client's approval again.
    """
    description = definition.get("description")
    return Offer(
        "",
        "mcp",
        str(definition["name"]),
        namespace=tool.server_label,
        description=str(description)[:LONGEST_DESCRIPTION] if description else None,
        parameters=schema_of(definition),
        is_hosted=True,
        tool=tool,
        needs_approval=is_changed or needs_approval(tool, definition),
        is_changed=is_changed,
    )


def function_of(definition: Definition) -> FunctionTool:
    """Return a server's tool in the form in which deferred tools are searched."""
    return FunctionTool(
        name=str(definition["name"]),
        description=definition.get("description"),
        parameters=schema_of(definition),
    )


def schema_of(definition: Definition) -> dict[str, Any]:
    """Return the schema of a tool's arguments."""
    schema = definition.get("input_schema")
    return schema if isinstance(schema, dict) else {"type": "object", "properties": {}}


def _fits(rule: Mapping[str, Any], definition: Definition) -> bool:
    names = rule.get("tool_names")
    read_only = rule.get("read_only")
    if isinstance(names, list | frozenset) and definition["name"] not in names:
        return False
    if isinstance(read_only, bool):
        annotations = definition.get("annotations")
        hints = annotations if isinstance(annotations, dict) else {}
        if read_only != is_read_only(hints):
            return False
    return isinstance(names, list | frozenset) or isinstance(read_only, bool)


def _quick(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the rule in a form that is fast to evaluate for thousands of tools."""
    names = rule.get("tool_names")
    if not isinstance(names, list):
        return rule
    return {**rule, "tool_names": frozenset(name for name in names if isinstance(name, str))}
