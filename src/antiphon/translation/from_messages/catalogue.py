"""The tools of a request of the Messages API: which of them the model can use, and as what.

| Tool | Becomes |
|---|---|
| a client's own | `function` |
| `bash_*`, `text_editor_*`, `memory_*` | `function`, with a schema of ours |
| `web_search_*`, `web_fetch_*` | one `web_search`, which also opens pages |
| `code_execution_20250522` | `code_interpreter` |
| `code_execution_*`, later | `shell` in a container |
| `tool_search_tool_*` | `tool_search` |
| `mcp_toolset` with its entry in `mcp_servers` | `mcp`, without approvals |

An unknown date of a known family is treated as the newest one; an unknown family is rejected by
name.

A deferred tool is offered once a `tool_reference` or a `tool_addition` names it, after all others,
so that the prompt that a backend has cached stays the same up to there. With a tool search, this
server finds the deferred tools.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.messages.requests import Conversation, McpServer, ToolParam
from antiphon.protocol.messages.wording import field_required, not_supported, refusal, reworded
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.tools import (
    AnyTool,
    CodeInterpreterTool,
    FunctionTool,
    McpTool,
    ShellTool,
    ToolSearchTool,
    WebSearchTool,
)
from antiphon.protocol.validation.tool_rules import check_tools
from antiphon.translation.from_messages.client_tools import client_tool

PLACEHOLDER = "DeferredToolPlaceholder"
"""A tool of Claude Code that is never loaded."""

PYTHON_DATE = "20250522"
"""The code execution tool that runs Python alone; later ones run commands."""

LONGEST_EXAMPLES = 4000
"""Characters of `input_examples` in a description."""

_DATED = re.compile(r"([a-z0-9_]+?)(?:_(\d{8}))?")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_WEB = ("web_search", "web_fetch")
_WEB_SEARCH = WebSearchTool()
_SEARCHES = ("tool_search_tool_regex", "tool_search_tool_bm25")
_UNRESOLVED = "tool_reference_unresolved"

T = TypeVar("T")

Named = tuple[int, FunctionTool]
"""A function, and the position of its tool in the request; -1 if a message defined it."""


class Catalogue:
    """The tools of one request.

    Raises `ClientError` (400) for a tool that this server does not support.
    """

    def __init__(self, body: Conversation, file_ids: Sequence[str] = ()) -> None:
        """`file_ids` are the files for the container in which code runs."""
        self.search_name = ""
        """The name of the client's tool search, empty without one."""
        self.has_code = False
        """Whether code can run in a container."""
        self.calls_at_most: int | None = None
        """How many calls of tools of this server the request allows, None without a limit."""
        self._functions: dict[str, Named] = {}
        self._deferred: set[str] = set()
        self._hosted: dict[str, tuple[int, AnyTool]] = {}
        self._loaded: dict[str, None] = {}
        self._removed: set[str] = set()
        self._container = _container_id(body)
        self._file_ids = file_ids
        servers = {server.name: server for server in body.mcp_servers or ()}
        unlimited = False
        for index, tool in enumerate(body.tools or ()):
            family = self._add(index, tool, servers)
            if family in _HOSTED and tool.max_uses is not None:
                self.calls_at_most = (self.calls_at_most or 0) + tool.max_uses
            unlimited = unlimited or (family in _HOSTED and tool.max_uses is None)
        for server in body.mcp_servers or ():
            if server.name in servers:  # the older form, without a toolset
                self._hosted[f"mcp {server.name}"] = (-1, _mcp_tool(server, _configuration(server)))
        if unlimited or servers:
            self.calls_at_most = None

    def _add(self, index: int, tool: ToolParam, servers: dict[str, McpServer]) -> str:
        """Add a tool; return its family, empty for one of the client's own."""
        path = f"tools.{index}"
        if tool.type is None or tool.type == "custom":
            self._add_function(index, _function(tool, path), tool)
            return ""
        dated = _DATED.fullmatch(tool.type)
        family, date = (dated[1], dated[2] or "") if dated else ("", "")
        if (function := client_tool(family, date)) is not None:
            self._add_function(index, replace(function, name=tool.name or function.name), tool)
        elif family in _WEB:
            self._add_web(index, tool, path)
        elif family == "code_execution":
            self.has_code = True
            self._hosted["code"] = (index, self._code_tool(is_python=date == PYTHON_DATE))
        elif family in _SEARCHES:
            self.search_name = tool.name or family
            self._hosted["search"] = (index, ToolSearchTool())
        elif tool.type == "mcp_toolset":
            self._add_toolset(index, tool, servers, path)
            family = tool.type
        else:
            raise not_supported(f"{path}.type", tool.type)
        return family

    def _add_function(self, index: int, function: FunctionTool, tool: ToolParam) -> None:
        if tool.allowed_callers and "direct" not in tool.allowed_callers:
            raise not_supported(
                f"tools.{index}.allowed_callers", ", ".join(tool.allowed_callers), "Add 'direct'."
            )
        if function.name == PLACEHOLDER and tool.defer_loading:
            return
        self._functions[function.name] = (index, function)
        if tool.defer_loading:
            self._deferred.add(function.name)

    def _add_web(self, index: int, tool: ToolParam, path: str) -> None:
        if tool.allowed_domains and tool.blocked_domains:
            raise refusal(path, "only one of `allowed_domains` and `blocked_domains` can be set")
        first, known = self._hosted.get("web", (index, _WEB_SEARCH))
        lists = {"allowed_domains": tool.allowed_domains, "blocked_domains": tool.blocked_domains}
        filters = {name: domains for name, domains in lists.items() if domains}
        changes: dict[str, Any] = (
            {"filters": {**(getattr(known, "filters", None) or {}), **filters}} if filters else {}
        )
        if tool.user_location:
            changes["user_location"] = tool.user_location
        self._hosted["web"] = (first, replace(known, **changes) if changes else known)

    def _code_tool(self, *, is_python: bool) -> AnyTool:
        if is_python:
            auto = (
                {"type": "auto", "file_ids": [*self._file_ids]}
                if self._file_ids
                else {"type": "auto"}
            )
            return CodeInterpreterTool(container=self._container or auto)
        if self._container:
            return ShellTool(
                environment={"type": "container_reference", "container_id": self._container}
            )
        files = {"file_ids": [*self._file_ids]} if self._file_ids else {}
        return ShellTool(environment={"type": "container_auto", **files})

    def _add_toolset(
        self, index: int, tool: ToolParam, servers: dict[str, McpServer], path: str
    ) -> None:
        name = tool.mcp_server_name
        if name is None:
            raise field_required(f"{path}.mcp_server_name")
        if name not in servers:
            raise refusal(
                f"{path}.mcp_server_name", f"MCP server '{name[:100]}' not found in `mcp_servers`"
            )
        server = servers.pop(name)
        self._hosted[f"mcp {name}"] = (index, _mcp_tool(server, _toolset(tool, path)))

    # What the conversation does with them.

    def load(self, name: str, path: str, *, is_lenient: bool = False) -> None:
        """Offer a deferred tool from here on.

        Raises `ClientError` (400) for a tool that the request does not have.
        """
        if name not in self._functions:
            if is_lenient or name == PLACEHOLDER:
                return
            raise refusal(
                path, f"Tool reference '{name[:128]}' not found in available tools", _UNRESOLVED
            )
        if name in self._deferred:
            self._loaded[name] = None
        self._removed.discard(name)

    def define(self, definition: Mapping[str, Any], path: str) -> None:
        """Offer a tool that a message defines."""
        try:
            tool = msgspec.convert(definition, ToolParam)
        except msgspec.ValidationError as error:
            raise refusal(path, f"Input should be a tool: {error}") from None
        if tool.type not in (None, "custom"):
            raise not_supported(f"{path}.type", tool.type)
        function = _function(tool, path)
        _check(function, path)
        self._functions[function.name] = (-1, function)
        self._deferred.add(function.name)
        self._loaded.pop(function.name, None)
        self._loaded[function.name] = None
        self._removed.discard(function.name)

    def remove(self, name: str) -> None:
        """Offer this tool no longer."""
        self._removed.add(name)
        self._loaded.pop(name, None)

    def is_hosted(self, name: str) -> str:
        """Return the key of the hosted tool that has this name in a `tool_choice`, empty without
        one.
        """
        keys = {
            "web_search": "web",
            "web_fetch": "web",
            "code_execution": "code",
            self.search_name: "search",
        }
        return key if (key := keys.get(name, "")) in self._hosted else ""

    def has(self, name: str) -> bool:
        """Whether the request has a function of this name, deferred or not."""
        return name in self._functions

    def functions(self, names: Iterable[str]) -> list[AnyTool]:
        """Return the functions with these names that the request has."""
        return [self._functions[name][1] for name in names if name in self._functions]

    def tools(self) -> tuple[ToolList, list[int]]:
        """Return the tools that the model can use, and where each came from; the loaded ones are
        last.
        """
        remaining = {
            name: one for name, one in self._functions.items() if name not in self._removed
        }
        offered = [one for name, one in remaining.items() if name not in self._deferred]
        tools: list[tuple[int, AnyTool]] = sorted(
            [*offered, *self._hosted.values()], key=lambda one: one[0]
        )
        if self.search_name:
            waiting = [
                (i, tool)
                for i, tool in (remaining[name] for name in remaining if name in self._deferred)
            ]
            tools += [
                (i, tool if tool.name in self._loaded else replace(tool, defer_loading=True))
                for i, tool in waiting
            ]
        else:
            tools += [remaining[name] for name in self._loaded if name in remaining]
        listed = ToolList(tool for _, tool in tools)
        places = [place for place, _ in tools]
        _check_all(listed, places)
        return listed, places


_HOSTED = frozenset({*_WEB, "code_execution"})


def _function(tool: ToolParam, path: str) -> FunctionTool:
    """Return a client's own tool."""
    if tool.name is None:
        raise field_required(f"{path}.name")
    if _NAME.fullmatch(tool.name) is None:
        raise refusal(f"{path}.name", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
    if tool.input_schema is None:
        raise field_required(f"{path}.input_schema")
    description = tool.description
    if tool.input_examples:
        examples = msgspec.json.encode(tool.input_examples).decode()
        if len(examples) <= LONGEST_EXAMPLES:
            description = f"{description or ''}\n\nExamples of its input: {examples}".strip()
    function = FunctionTool(name=tool.name, description=description, parameters=tool.input_schema)
    if tool.strict:
        # A schema that this API accepts as strict can have optional properties, which the Responses
        # API does not allow.
        strict = replace(function, strict=True)
        return strict if is_valid(lambda one: check_tools([one], ""), strict) else function
    return function


def is_valid(check: Callable[[T], None], value: T) -> bool:
    """Whether a value passes a check that raises `ClientError`."""
    try:
        check(value)
    except ClientError:
        return False
    return True


def _check(function: FunctionTool, path: str) -> None:
    try:
        check_tools([function], "tools")
    except ClientError as error:
        raise reworded(error, lambda param: f"{path}.input_schema") from None


def _check_all(tools: Sequence[AnyTool], places: Sequence[int]) -> None:
    """Check the tools that are offered; two of them can have no common name, because of two the
    later one counts.
    """
    try:
        check_tools(tools, "tools")
    except ClientError as error:
        found = re.match(r"tools\[(\d+)\]\.?(.*)", error.param or "", re.DOTALL)
        place = places[int(found[1])] if found else -1
        field = (
            {"parameters": "input_schema", "server_url": "mcp_server_name"}.get(found[2], found[2])
            if found
            else ""
        )
        path = f"tools.{place}.{field}".removesuffix(".") if place >= 0 else "mcp_servers"
        raise reworded(error, lambda param: path) from None


def _container_id(body: Conversation) -> str:
    container = body.container
    if container is None or isinstance(container, str):
        return container or ""
    if container.skills:
        raise refusal("container.skills", "Skills are not supported here.", "unsupported_parameter")
    return container.id or ""


# MCP servers.

Allowed = tuple[list[str] | None, bool]
"""The tools of a server that the model can use, None for all, and whether they are deferred."""


def _mcp_tool(server: McpServer, allowed: Allowed) -> McpTool:
    names, defers = allowed
    return McpTool(
        server_label=server.name,
        server_url=server.url,
        authorization=server.authorization_token or UNSET,
        allowed_tools=UNSET if names is None else names,
        require_approval="never",
        defer_loading=True if defers else UNSET,
    )


def _configuration(server: McpServer) -> Allowed:
    """Return the tools of the older form: `{enabled, allowed_tools}`."""
    configuration = server.tool_configuration or {}
    if configuration.get("enabled") is False:
        return [], False
    names = configuration.get("allowed_tools")
    return ([str(name) for name in names] if isinstance(names, list) else None), False


def _toolset(tool: ToolParam, path: str) -> Allowed:
    """Return the tools of a toolset.

    All but some cannot be expressed, and none is offered that is disabled.
    """
    default = tool.default_config or {}
    configs = tool.configs or {}
    if default.get("enabled") is False:
        names = [name for name, config in configs.items() if config.get("enabled") is True]
        return names, default.get("defer_loading") is True
    for name, config in configs.items():
        if config.get("enabled") is False:
            words = (
                "Single tools cannot be disabled here. Disable all in `default_config`, "
                "and enable those you need."
            )
            raise refusal(f"{path}.configs.{name}.enabled", words, "unsupported_value")
    return None, default.get("defer_loading") is True
