"""The rules for server-side tools in one response: which servers to list, which calls the client
approved, how many calls can follow, which tools are not offered. This module decides,
`tool_calls.py` executes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from antiphon.errors import ClientError, log
from antiphon.protocol.items.calls import (
    AdditionalTools,
    ShellCall,
    ShellCallOutput,
    ToolSearchOutput,
)
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.hosted import (
    CodeInterpreterCall,
    FileSearchCall,
    ImageGenerationCall,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCall,
    McpListTools,
    WebSearchCall,
)
from antiphon.protocol.items.messages import InputItem, Message, kinds_of
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.sources import CitedFile, CreatedFile, Source, Sources, read_sources
from antiphon.protocol.tool_bindings import Offer
from antiphon.protocol.tools import McpTool, Tool
from antiphon.tools.registry import Toolset
from antiphon.translation.dialects.dialect import Api
from antiphon.translation.to_chat_completions.hosted import approvals_in, state_of
from antiphon.translation.to_chat_completions.reasoning import Unseal
from antiphon.translation.to_chat_completions.request import configured
from antiphon.translation.tool_mapping.mcp import lists_in, permitted
from antiphon.translation.tool_mapping.offering import Toolbox, left_out, servers_of
from antiphon.translation.writer import CiteFiles

IGNORED = "antiphon-ignored-tools"
"""The header with the types of tools that were not offered to the model; an Antiphon backend
sends it, too.
"""

RUN_HERE = (McpCall, WebSearchCall, FileSearchCall, CodeInterpreterCall, ImageGenerationCall)
"""Items of calls that this server executed."""

CALLED_BY_SERVER = (McpListTools, *RUN_HERE, ToolSearchOutput)
"""Items that this server generated: a resumed response continues after them."""

RESULTS_HERE = (*RUN_HERE, ShellCallOutput)
"""Items of results of this server, if they are in its own output: a client's shell
has outputs, too.
"""

CALLED_HERE = frozenset({McpApprovalRequest, *RUN_HERE})
"""Items of server-side tool calls by the model."""

CONCERNED = frozenset({*CALLED_BY_SERVER, *CALLED_HERE, McpApprovalResponse, AdditionalTools})
"""Items that can require a server-side tool."""

_logged: set[str] = set()
"""Types of tools that were omitted and already logged."""


@dataclass(frozen=True, slots=True)
class Approved:
    """A call that the client approved, to be executed; or to be approved again,
    if its tool has changed.
    """

    offer: Offer
    call_id: str
    arguments: str


class ToolPolicy:
    """The decisions. `conversation` returns all items so far; `new` are those of the request."""

    def __init__(
        self,
        request: CreateResponse,
        toolset: Toolset,
        conversation: Callable[[], Sequence[InputItem]],
        created: Callable[[], Sequence[Item]],
        unseal: Unseal,
        new: Sequence[InputItem] = (),
        rounds: int = 0,
    ) -> None:
        self._new = new
        self.rounds = rounds
        """How often the model has called tools."""
        self._request = request
        self._toolset = toolset
        self._conversation = conversation
        self._created = created
        self._unseal = unseal
        self._has_begun = False
        self.is_late = False
        """The time limit for tools has passed."""
        self._was_warned = False
        self._are_invalid = not self._concerns()

    def _concerns(self) -> bool:
        """Whether the response involves server-side tools at all: most do not,
        and skip all of this.
        """
        tools = self._request.tools or ()
        if not self._toolset.runs_none(tools) and any(map(self._toolset.runs, tools)):
            return True
        return not kinds_of(self._conversation()).isdisjoint(CONCERNED)

    def begins(self) -> bool:
        """Whether to list servers and run approved calls: once per response, if there are any."""
        if self._are_invalid or self._has_begun or McpTool not in self._toolset.supported:
            return False
        self._has_begun = True
        if any(isinstance(tool, McpTool) for tool in self._request.tools or ()):
            return True
        return any(
            isinstance(item, McpApprovalResponse | AdditionalTools) for item in self._conversation()
        )

    def servers(self) -> Sequence[McpTool]:
        """Return the servers to list: all except those that an earlier attempt
        reported as unreachable.
        """
        failed = {
            item.server_label
            for item in self._created()
            if isinstance(item, McpListTools) and item.error
        }
        return [
            tool
            for tool in servers_of(self._request, self._conversation())
            if tool.server_label not in failed
        ]

    def listed(self) -> Mapping[str, McpListTools]:
        """Return the known tools of each server, by its label."""
        return lists_in(self._conversation())

    def approved(self, toolbox: Toolbox) -> list[Approved]:
        """Return the calls that the client approved and that were not executed yet.

        Raises as `check`.
        """
        return [self._call_of(request, server, toolbox) for request, server in self._to_call()]

    def check(self) -> None:
        """Raise `ClientError` (400) for an answer to an unknown approval request, or for a server
        that is missing.
        """
        self._to_call()

    def _to_call(self) -> list[tuple[McpApprovalRequest, McpTool]]:
        items = self._conversation()
        requests = {item.id: item for item in items if isinstance(item, McpApprovalRequest)}
        approvals = approvals_in(items)
        for item in self._new:
            if isinstance(item, McpApprovalResponse) and item.approval_request_id not in requests:
                raise _unknown(item)
        servers = {tool.server_label: tool for tool in servers_of(self._request, items)}
        return [
            (requests[request_id], _server_of(requests[request_id], servers))
            for request_id, answer in approvals.answers.items()
            if answer.approve and request_id in requests and request_id not in approvals.settled
        ]

    def _call_of(self, request: McpApprovalRequest, server: McpTool, toolbox: Toolbox) -> Approved:
        name = toolbox.names.get(("mcp", request.server_label, request.name), "")
        found = toolbox.offers.get(name) or Offer(
            "",
            "mcp",
            request.name,
            namespace=request.server_label,
            tool=self._if_there(server, request),
            is_hosted=True,
        )
        created = state_of(request, self._unseal).get("call") or {}
        is_changed = found.is_changed
        offer = replace(
            found,
            needs_approval=is_changed,
            approval_request_id=None if is_changed else str(request.id),
        )
        return Approved(
            offer, str(created.get("id") or f"call_{request.id}"[:64]), request.arguments
        )

    def _if_there(self, server: McpTool, request: McpApprovalRequest) -> McpTool | None:
        """Return the server, None if it no longer lists the tool, or the client
        no longer allows it.
        """
        listed = self.listed().get(request.server_label)
        is_there = listed is None or any(
            each["name"] == request.name for each in permitted(server, listed.tools)
        )
        return server if is_there else None

    def sources(self) -> Sources:
        """Return the sources that the model can cite, numbered as the model received them.

        An answer in JSON does not cite files: removing a mark such as `[1]` from it would
        change its meaning.
        """
        if self._are_invalid:
            return {}
        conversation = self._conversation()
        found = sources_of(conversation, self._unseal)
        if not (found and configured(self._request, conversation).requests_json):
            return found
        return {key: None if isinstance(one, CitedFile) else one for key, one in found.items()}

    def call_ids(self) -> frozenset[str]:
        """Return the ids of the calls made so far, as the model knows them."""
        return frozenset() if self._are_invalid else call_ids_of(self._conversation(), self._unseal)

    def cite_files(self) -> CiteFiles | None:
        """Return what finds citations of files that code created in this conversation;
        None without files.
        """
        files = [] if self._are_invalid else files_of(self._conversation(), self._unseal)
        if not files:
            return None
        from antiphon.translation.file_links import FileLinks  # noqa: PLC0415 - few responses have such files

        return FileLinks(files).annotations

    # Limits.

    @property
    def calls_left(self) -> int | None:
        """How many more calls are allowed (specification section 2, `max_tool_calls`);
        None for any number.
        """
        most = self._request.max_tool_calls
        return None if most is None else max(0, most - self._used())

    def _used(self) -> int:
        return sum(isinstance(item, (*RESULTS_HERE, ToolSearchOutput)) for item in self._created())

    def is_enough(self, *, were_used_up: bool) -> bool:
        """Whether the model is not called again: the loop has reached its limit.

        A model that calls a tool that is no longer offered has one more chance to answer instead.
        """
        self.rounds += 1
        is_deaf = were_used_up and self._was_warned
        self._was_warned = were_used_up
        return is_deaf or self.is_late or self.rounds >= self._toolset.rounds

    @property
    def were_called(self) -> bool:
        """Whether a tool was called in this response."""
        return not self._are_invalid and any(
            isinstance(item, RESULTS_HERE) for item in self._created()
        )

    @property
    def waits_for_client(self) -> bool:
        """Whether the client's approval is requested in this response."""
        return not self._are_invalid and any(
            isinstance(item, McpApprovalRequest) for item in self._created()
        )


def settled(stored: Sequence[Any]) -> int:
    """Return how many items of an earlier attempt remain: up to the last one of this server."""
    return max(
        (
            place + 1
            for place, item in enumerate(stored)
            if isinstance(item, (*CALLED_BY_SERVER, ShellCallOutput))
        ),
        default=0,
    )


CITED = frozenset({WebSearchCall, FileSearchCall})
"""Items of calls that return sources."""


def sources_of(items: Iterable[Item], unseal: Unseal) -> dict[str, Source]:
    """Return the sources that the model received in a conversation, in their order."""
    states = [state_of(item, unseal) for item in items if type(item) in CITED]
    found: dict[str, Source] = {}
    for state in sorted(states, key=lambda state: int(state.get("first") or 0)):
        for key, source in read_sources(state.get("sources")).items():
            found.setdefault(key, source)
    return found


WITH_FILES = frozenset({CodeInterpreterCall, ShellCallOutput})
"""Items of calls that create files."""


def files_of(items: Sequence[InputItem], unseal: Unseal) -> list[CreatedFile]:
    """Return the files that code created in a conversation, in their order.

    Only figures of this turn that no message has cited yet are treated as figures.
    """
    if WITH_FILES.isdisjoint(kinds_of(items)):
        return []
    messages = [(place, item) for place, item in enumerate(items) if type(item) is Message]
    begin = max((place for place, message in messages if message.role != "assistant"), default=-1)
    cited = {
        file_id for place, message in messages if place > begin for file_id in _cited_in(message)
    }
    found: dict[tuple[str, str], CreatedFile] = {}
    for place, item in enumerate(items):
        if type(item) in WITH_FILES:
            for file in convert(state_of(item, unseal).get("files") or [], list[CreatedFile]):
                is_new = file.is_figure and place > begin and file.file_id not in cited
                found[file.container_id, file.path] = replace(file, is_figure=is_new)
    return list(found.values())


def _cited_in(message: Message) -> Iterator[str]:
    for part in message.content:
        for one in getattr(part, "annotations", ()):
            if one.get("type") == "container_file_citation":
                yield str(one.get("file_id"))


def call_ids_of(items: Sequence[Item], unseal: Unseal) -> frozenset[str]:
    """Return the ids of the calls that this server executed or requested from its client, as the
    model knows them.
    """
    created = (
        state_of(item, unseal).get("call") or {} for item in items if type(item) in CALLED_HERE
    )
    ids = frozenset(str(call["id"]) for call in created if call.get("id"))
    return ids | {item.call_id for item in items if type(item) is ShellCall}


def _server_of(request: McpApprovalRequest, servers: Mapping[str, McpTool]) -> McpTool:
    server = servers.get(request.server_label)
    if server is None:
        raise ClientError(
            f"The approved call of '{request.name}' is for the MCP server "
            f"'{request.server_label}', which is not among the tools. "
            "Send the same tools as in the previous request.",
            code="invalid_value",
            param="tools",
        )
    return server


def _unknown(answer: McpApprovalResponse) -> ClientError:
    return ClientError(
        f"Approval request with id '{answer.approval_request_id[:100]}' not found.",
        code="invalid_value",
        param="input",
    )


def inspect_tools(
    request: CreateResponse,
    items: Sequence[InputItem],
    api: Api,
    supported: Collection[type[Tool]],
    *,
    refuses: bool,
) -> list[str]:
    """Return the types of tools that are omitted because they are not `supported`;
    each is logged once.

    A backend that is called through Responses, its `api`, receives every tool: it rejects the ones
    it cannot run.

    Raises `ClientError` (400) for the first of them if this server `refuses` such tools.
    """
    types = left_out(request, items, supported) if api == "chat" else []
    if not types:
        return types
    if refuses:
        raise ClientError(
            f"Unsupported tool: this server does not run tools of type '{types[0]}'.",
            code="unsupported_value",
            param="tools",
        )
    new = [each for each in types if each not in _logged]
    if new:
        _logged.update(new)
        log.warning(
            "These tools are omitted from requests, because this server does not run them: %s",
            ", ".join(new),
        )
    return types


def plain_types(header: str) -> list[str]:
    """Return the valid types in a backend's header: the client receives them."""
    return [name for name in header.split(", ") if name.isascii() and name.isidentifier()]
