"""The result for each tool: offered to the model, deferred until it is searched for, or omitted.

| Tool | Offered as | A call becomes |
|---|---|---|
| `function`, in a `namespace` too | itself | `function_call` |
| `custom`, in a `namespace` too | a function of one text, `input` | `custom_tool_call` |
| `tool_search` | a function; by default of a `query` | `tool_search_call` |
| `local_shell`, `shell`, `apply_patch`, `computer` and its preview | a function of their action | their own call |
| `mcp` | each of the server's tools, once they were listed | `mcp_call`, or `mcp_approval_request` |
| `web_search` | three functions: to search, to open a page, to find something in it | `web_search_call` |
| `file_search` | a function of up to four queries | `file_search_call` |
| `code_interpreter` | a function of Python code, `python` | `code_interpreter_call` |
| `shell` in a container | a function of command lines | `shell_call` and `shell_call_output` |
| `image_generation` | a function of a prompt | `image_generation_call` |

Tools that this server cannot run are omitted; so are tools that only programs can call.
"""  # noqa: E501 - a table, a diagram or an example

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from antiphon.protocol.items.calls import AdditionalTools, ToolSearchOutput
from antiphon.protocol.items.hosted import McpListTools
from antiphon.protocol.items.messages import InputItem, ItemList
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tool_bindings import Key, Kind, Offer, TextCalls
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.tools import (
    HOSTED_TOOLS,
    CodeInterpreterTool,
    CustomTool,
    FileSearchTool,
    FunctionTool,
    ImageGenerationTool,
    McpTool,
    NamespaceTool,
    ShellTool,
    Tool,
    WebSearchTool,
)
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.tool_mapping.functions import (
    OFFERED,
    code_offer,
    container_shell_offer,
    file_offer,
    image_offer,
    web_offers,
)
from antiphon.translation.tool_mapping.mcp import (
    Definition,
    changed_in,
    function_of,
    is_changed,
    lists_in,
    offer_of,
    permitted,
)

LONGEST_NAME = 64
"""Characters of a function's name at most, for nearly every backend."""

_FITTING = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNFITTING = re.compile(r"[^a-zA-Z0-9_-]")

Origin = Literal["given", "found", "found elsewhere"]
"""How a tool became available: sent by the client, or found by a search, here or at the client."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """A deferred tool that a search can find."""

    tool: FunctionTool | CustomTool
    namespace: NamespaceTool | None = None
    server: McpTool | None = None
    """The MCP server of the tool, if it has one."""

    @property
    def key(self) -> Key:
        """Return the tool as the client knows it."""
        if self.server is not None:
            return ("mcp", self.server.server_label, self.tool.name)
        kind: Kind = "function" if isinstance(self.tool, FunctionTool) else "custom"
        return (kind, self.namespace.name if self.namespace else "", self.tool.name)


class Toolbox(Struct):
    """The tools in force for one call of the model."""

    offers: dict[str, Offer] = field(default_factory=dict)
    """By the name that the backend knows, in the order in which the client sent them."""
    names: dict[Key, str] = field(default_factory=dict)
    deferred: list[Deferred] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Types of tools that are not offered to the model."""
    searches: list[Offer] = field(default_factory=list)
    """A search that this server would run, and that is not offered any more."""
    are_used_up: bool = False
    """Whether tools that this server runs are no longer offered; calls of them are dropped."""
    in_text: TextCalls = ""
    """Which calls the model can write as text that its backend does not recognise."""
    checks_schemas: bool = False
    """Whether the arguments of a call must match a schema."""
    source: ToolList | None = None
    """The tools that all `offers` follow from, if nothing else decides on them."""

    @property
    def offered(self) -> list[Offer]:
        """The tools that are sent to the model."""
        return [
            offer for offer in self.offers.values() if not (self.are_used_up and offer.is_hosted)
        ]

    @property
    def absent(self) -> list[Offer]:
        """Tools that the client sent, and that are not offered now: tools to be found, a search
        that is over.
        """
        waiting = [
            Offer("", kind, name, namespace=namespace)
            for kind, namespace, name in (d.key for d in self.deferred)
        ]
        return waiting + self.searches

    def name_of(self, kind: Kind, namespace: str, name: str) -> str:
        """Return a tool's name as the backend knows it; the tool can have been in force earlier."""
        if namespace == name and (kind, "", name) in self.names:
            namespace = ""  # it was found by a search
        return self.names.get((kind, namespace, name)) or fitted(kind, namespace, name)

    def drop_search(self) -> None:
        """Offer no search that this server would run: the limit of searches is reached."""
        self.searches = [
            *self.searches,
            *(offer for offer in self.offers.values() if _is_search(offer)),
        ]
        self.offers = {name: offer for name, offer in self.offers.items() if not _is_search(offer)}
        self.source = None


NOTHING: frozenset[type[Tool]] = frozenset()


def toolbox_of(
    request: CreateResponse,
    items: Sequence[InputItem],
    dialect: Dialect,
    supported: Collection[type[Tool]] = NOTHING,
) -> Toolbox:
    """Return the tools of a request, and those inside the conversation `items`.

    Of two with the same name the later one applies. A deferred tool is in force once it was found.
    `supported` are the hosted tools that this server runs.
    """
    in_text = _in_text(request, dialect)
    if (tools := _alone(request, items)) is not None and McpTool not in tools.kinds:
        known = tools.fact(
            "toolbox", (dialect, supported), lambda: _toolbox(request, (), dialect, supported)
        )
        return replace(known, in_text=in_text, source=tools)
    toolbox = _toolbox(request, items, dialect, supported)
    toolbox.in_text = in_text
    return toolbox


def _alone(request: CreateResponse, items: Iterable[InputItem]) -> ToolList | None:
    """Return the tools of a request if its conversation contains none."""
    tools = request.tools
    is_bare = isinstance(items, ItemList) and items.kinds.isdisjoint(WITH_TOOLS)
    return tools if is_bare and isinstance(tools, ToolList) else None


def _toolbox(
    request: CreateResponse,
    items: Sequence[InputItem],
    dialect: Dialect,
    supported: Collection[type[Tool]],
) -> Toolbox:
    toolbox = Toolbox()
    provided = list(_sent_tools(request, items))
    if not provided:
        return toolbox
    hosted = _hosted(provided, items, supported)
    found: dict[Key, Offer] = {}
    for tool, origin in provided:
        for offer in _offers(tool, origin, toolbox, dialect, hosted):
            found[offer.key] = offer
    taken: set[str] = set()
    for key in sorted(
        found, key=lambda key: bool(key[1])
    ):  # a tool without a namespace keeps its name
        toolbox.names[key] = name = _free(key, taken)
        taken.add(name)
    for key, offer in found.items():
        toolbox.offers[toolbox.names[key]] = replace(offer, chat_name=toolbox.names[key])
    _settle_search(toolbox)
    toolbox.checks_schemas = any(offer.check == "schema" for offer in toolbox.offers.values())
    return toolbox


def _in_text(request: CreateResponse, dialect: Dialect) -> TextCalls:
    """Return which calls count in the text: JSON that the client requested is not a call without
    marks.
    """
    is_json = request.requests_json
    if dialect.tools != "native":
        return "wrapped" if dialect.tools == "schema" and not is_json else "any"
    return "" if not dialect.text_calls else "marked" if is_json else "any"


def tools_of(request: CreateResponse, items: Iterable[InputItem]) -> Iterator[Tool]:
    """Yield the tools of a request, and those inside the conversation."""
    return (tool for tool, _ in _sent_tools(request, items))


def servers_of(request: CreateResponse, items: Iterable[InputItem]) -> list[McpTool]:
    """Return the MCP servers of a request, and those inside the conversation."""
    return list(_servers(_sent_tools(request, items)).values())


@dataclass(frozen=True, slots=True)
class _Hosted:
    """The tools that this server runs, and the lists of tools of MCP servers."""

    supported: tuple[type[Tool], ...]
    lists: Mapping[str, McpListTools]
    servers: Mapping[str, McpTool]
    changed: Mapping[tuple[str, str], bool]

    def runs(self, tool: Tool) -> bool:
        return isinstance(tool, self.supported)

    def definitions(self, tool: McpTool) -> list[Definition]:
        listed = self.lists.get(tool.server_label)
        return permitted(tool, listed.tools) if listed else []


def _hosted(
    provided: Sequence[tuple[Tool, Origin]],
    items: Sequence[InputItem],
    supported: Collection[type[Tool]],
) -> _Hosted:
    if not any(isinstance(tool, McpTool) for tool, _ in provided):
        return _Hosted(tuple(supported), {}, {}, {})
    return _Hosted(tuple(supported), lists_in(items), _servers(provided), changed_in(items))


def left_out(
    request: CreateResponse, items: Iterable[InputItem], supported: Collection[type[Tool]] = NOTHING
) -> list[str]:
    """Return the types of the tools that are not offered to the model, each once."""
    if (tools := _alone(request, items)) is not None:
        supported = NOTHING if tools.are_functions else supported  # a server runs none of these
        return tools.fact("left_out", (supported,), lambda: _left_out(request, (), supported))
    return _left_out(request, items, supported)


def _left_out(
    request: CreateResponse, items: Iterable[InputItem], supported: Collection[type[Tool]]
) -> list[str]:
    found: dict[str, None] = {}
    for tool, _ in _sent_tools(request, items):
        for each in tool.tools if isinstance(tool, NamespaceTool) else (tool,):
            if (is_hosted(each) and not isinstance(each, tuple(supported))) or not is_callable(
                each
            ):
                found[type_of(each)] = None
    return list(found)


def _sent_tools(
    request: CreateResponse, items: Iterable[InputItem]
) -> Iterator[tuple[Tool, Origin]]:
    for tool in request.tools or ():
        yield tool, "given"
    if isinstance(items, ItemList) and items.kinds.isdisjoint(WITH_TOOLS):
        return
    for item in items:
        if isinstance(item, (AdditionalTools, ToolSearchOutput)):
            for tool in item.tools:
                yield tool, _origin(item)


WITH_TOOLS = frozenset({AdditionalTools, ToolSearchOutput})
"""Items that contain tools."""


def _origin(item: AdditionalTools | ToolSearchOutput) -> Origin:
    if isinstance(item, AdditionalTools):
        return "given"
    return "found" if item.execution == "server" else "found elsewhere"


def _offers(
    tool: Tool, origin: Origin, toolbox: Toolbox, dialect: Dialect, hosted: _Hosted
) -> Iterator[Offer]:
    if isinstance(tool, NamespaceTool):
        yield from _of_namespace(tool, origin, toolbox, dialect)
    elif isinstance(tool, McpTool) and hosted.runs(tool) and is_callable(tool):
        yield from _of_server(tool, origin, toolbox, hosted)
    elif isinstance(tool, WebSearchTool) and hosted.runs(tool):
        yield from web_offers(tool)
    elif isinstance(tool, FileSearchTool) and hosted.runs(tool):
        yield file_offer(tool)
    elif isinstance(tool, CodeInterpreterTool) and hosted.runs(tool) and is_callable(tool):
        yield code_offer(tool)
    elif isinstance(tool, ShellTool) and tool.is_hosted and hosted.runs(tool) and is_callable(tool):
        yield container_shell_offer(tool)
    elif isinstance(tool, ImageGenerationTool) and hosted.runs(tool):
        yield image_offer(tool)
    elif is_hosted(tool) or not is_callable(tool):
        toolbox.left_out.append(type_of(tool))
    elif isinstance(tool, FunctionTool | CustomTool) and tool.defer_loading and origin == "given":
        toolbox.deferred.append(Deferred(tool))
    else:
        yield replace(OFFERED[type(tool)](tool, dialect), was_found=origin == "found")


def _of_namespace(
    namespace: NamespaceTool, origin: Origin, toolbox: Toolbox, dialect: Dialect
) -> Iterator[Offer]:
    about = f"[{namespace.name}: {namespace.description}]\n" if namespace.description else ""
    for tool in namespace.tools:
        if not is_callable(tool):
            toolbox.left_out.append(type_of(tool))
        elif tool.defer_loading and origin == "given":
            toolbox.deferred.append(Deferred(tool, namespace))
        else:
            offer = OFFERED[type(tool)](tool, dialect)
            # Shared descriptions are written once.
            yield replace(
                offer,
                namespace=namespace.name,
                description=about + (offer.description or "") or None,
            )
            about = ""


def _servers(provided: Iterable[tuple[Tool, Origin]]) -> dict[str, McpTool]:
    """Return each server by its label: as in the request, which alone has the credentials."""
    servers: dict[str, McpTool] = {}
    for tool, origin in provided:
        if isinstance(tool, McpTool) and origin == "given":
            servers.setdefault(tool.server_label, tool)
    return servers


def _of_server(tool: McpTool, origin: Origin, toolbox: Toolbox, hosted: _Hosted) -> Iterator[Offer]:
    """The tools of a server that were found are called by the server in the request."""
    server = hosted.servers.get(tool.server_label, tool)
    # Shared descriptions are written once, as for a namespace.
    about = (
        f"[{server.server_label}: {server.server_description}]\n"
        if server.server_description
        else ""
    )
    for definition in hosted.definitions(tool):
        if server.defer_loading is True and origin == "given":
            toolbox.deferred.append(Deferred(function_of(definition), server=server))
        else:
            offer = offer_of(
                server, definition, is_changed=is_changed(server, definition, hosted.changed)
            )
            yield replace(offer, description=about + (offer.description or "") or None)
            about = ""


def _is_search(offer: Offer) -> bool:
    return offer.kind == "tool_search" and offer.is_hosted


def _settle_search(toolbox: Toolbox) -> None:
    """List for the model what it can search for; if nothing is left to be found, there is no
    search.
    """
    toolbox.deferred = [each for each in toolbox.deferred if each.key not in toolbox.names]
    if not toolbox.deferred:
        toolbox.drop_search()
    for name, offer in toolbox.offers.items():
        if _is_search(offer):
            text = f"{offer.description}\n\n{_searchable(toolbox.deferred)}"
            toolbox.offers[name] = replace(offer, description=text)


def _searchable(deferred: Iterable[Deferred]) -> str:
    about: dict[str, str] = {}
    for each in deferred:
        if each.server is not None:
            about[each.server.server_label] = each.server.server_description or ""
        elif each.namespace is None:
            about[each.tool.name] = each.tool.description or ""
        else:
            about[each.namespace.name] = each.namespace.description
    return "What can be found:\n" + "\n".join(
        f"- {name}: {text[:200]}".rstrip(": ") for name, text in about.items()
    )


def type_of(tool: Tool) -> str:
    """Return a tool's type in the API."""
    return str(tool.__struct_config__.tag)


def is_hosted(tool: Tool) -> bool:
    """Whether only a server can run it: a shell, if it is in a container."""
    return tool.is_hosted if isinstance(tool, ShellTool) else isinstance(tool, HOSTED_TOOLS)


def is_callable(tool: Tool) -> bool:
    """Whether the model itself can call it, and not only a program."""
    callers = getattr(tool, "allowed_callers", None)
    return not callers or "direct" in callers


# Names.

_CALLED: Mapping[Kind, str] = {"code_interpreter": "python"}
"""How a model calls a tool without a name: prompts that were written for OpenAI say "the python
tool".
"""


def _free(key: Key, taken: set[str]) -> str:
    name = fitted(*key)
    return name if name not in taken else _marked(key, name)


@lru_cache(1024)
def fitted(kind: Kind, namespace: str, name: str) -> str:
    """Return the name of a tool if no other has it: the same for the same tool, turn after turn."""
    wanted = f"{namespace}__{name}" if namespace else _CALLED.get(kind, name)
    if _FITTING.fullmatch(wanted):
        return wanted
    if namespace:  # of the two, the tool's own name helps the model more
        wanted = f"{namespace[: max(8, LONGEST_NAME - len('__' + name) - 9)]}__{name}"
    return _marked((kind, namespace, name), _UNFITTING.sub("_", wanted))


def _marked(key: Key, name: str) -> str:
    """Return a unique name for a tool, by a digest of its content."""
    digest = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 9]}_{digest}"
