"""Runs hosted tools for an agent, without a model: each call is a step.

As for a call of a model, a tool that can change something runs at most once: if its worker dies
before the result is stored, the result is that the outcome is unknown. A tool that only reads, or
that can be repeated, is executed again.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from antiphon.agents.approvals import Approval, request_id_of
from antiphon.agents.displayed_steps import DisplayedCall
from antiphon.agents.errors import StepInterrupted
from antiphon.agents.journal import NO_INPUT, Journal
from antiphon.agents.output import AgentOutput
from antiphon.agents.results import encoded
from antiphon.agents.steps import RequestedStep, Steps, StepWork
from antiphon.errors import BackendError
from antiphon.history.context import Context
from antiphon.protocol.items.content import InputImage, InputText
from antiphon.protocol.sources import CreatedFile
from antiphon.protocol.tool_bindings import Kind, Offer
from antiphon.protocol.tools import (
    AnyTool,
    CodeInterpreterTool,
    FileSearchTool,
    McpTool,
    ShellTool,
    Tool,
    WebSearchTool,
)
from antiphon.runs.parts import RunParts
from antiphon.runs.tool_calls import INTERRUPTED, executed, failure
from antiphon.storage.records.steps import Step, StepState
from antiphon.telemetry.observers import ToolUse
from antiphon.tools import base
from antiphon.tools.registry import is_of
from antiphon.translation.hosted_items import IN_CONTAINERS
from antiphon.translation.tool_mapping.functions import (
    code_offer,
    container_shell_offer,
    file_offer,
    web_offers,
)
from antiphon.translation.tool_mapping.mcp import is_repeatable
from antiphon.translation.tool_mapping.offering import type_of

CONTAINER = "container"
"""The key of the container in which code and commands of the response run."""


class ToolResult(Struct, frozen=True):
    """The result of a hosted tool that an agent called."""

    content: list[InputText | InputImage]
    """What a model would read of it, also after a failure."""
    fields: dict[str, Any] = {}
    """The fields of its item: `output` and `error` of an `mcp_call`, `action` and `results` of a
    `web_search_call`, `queries` and `results` of a `file_search_call`, `outputs` of a
    `code_interpreter_call`, `output` of a `shell_call_output`.
    """
    is_failed: bool = False
    files: list[CreatedFile] = []
    """Files of the container that code or commands created or changed."""

    @property
    def text(self) -> str:
        """The text of `content`."""
        return "".join(part.text for part in self.content if isinstance(part, InputText))


class AgentTools:
    """The hosted tools of one attempt. `context` is that of the response."""

    def __init__(
        self,
        parts: RunParts,
        context: Context,
        journal: Journal,
        steps: Steps,
        output: AgentOutput,
        now: Callable[[], int],
    ) -> None:
        self._parts = parts
        self._context = context
        self._journal = journal
        self._steps = steps
        self._output = output
        self._now = now
        self._choosing = asyncio.Lock()

    async def run(
        self,
        tool: Tool | Mapping[str, Any],
        name: str,
        arguments: Mapping[str, Any],
        show: bool | Approval,
    ) -> ToolResult:
        """Return the result of a tool. See `AgentContext.tool`."""
        checked = msgspec.convert(tool, AnyTool) if isinstance(tool, Mapping) else tool
        behind = self._parts.toolset.of(kind := _kind_of(checked))
        if behind is None:
            raise ValueError(f"This server does not run tools of type {type_of(checked)!r}.")
        behind.check(checked, "tool")
        offer = _offer_of(checked, kind, name)
        fields = {"tool": _without_credentials(checked), "name": name, "arguments": arguments}
        requested = self._steps.request(f"tool:{name}", fields)
        once = False
        if not requested.is_over:
            with self._steps.without_store_errors():
                once = not await self._is_repeatable(checked, name)
                if kind in IN_CONTAINERS:
                    offer = replace(offer, container_id=await self._container_of(checked))
        call = _Call(self._parts, behind, offer, self._context.tenant)
        display = self._display(requested, offer, arguments, show) if show else None
        work = StepWork(call.run, [dict(arguments)], once=once, display=display)
        try:
            found: ToolResult = await self._steps.complete(requested, work)
        except StepInterrupted:
            return _result_of(failure(kind, INTERRUPTED))
        return found

    def _display(
        self,
        requested: RequestedStep,
        offer: Offer,
        arguments: Mapping[str, Any],
        show: bool | Approval,
    ) -> DisplayedCall:
        offer = replace(offer, approval_request_id=request_id_of(show))
        call_id = f"call_{self._steps.name_of(requested.key)}"
        text = encoded(arguments, "the arguments").decode()
        return DisplayedCall(self._output, requested.key, call_id, offer, text, _outcome_of)

    async def _is_repeatable(self, tool: Tool, name: str) -> bool:
        if not isinstance(tool, McpTool):
            return _kind_of(tool) not in IN_CONTAINERS  # its code may have changed files
        servers = self._parts.toolset.mcp
        assert servers is not None  # noqa: S101 - it runs the tool
        listing = await servers.list(tool, self._context.tenant)
        return is_repeatable(next((one for one in listing.tools if one["name"] == name), None))

    async def _container_of(self, tool: Tool) -> str:
        """Return the container of the tool: the one that it names, else that of the response."""
        from antiphon.runs.containers import (  # noqa: PLC0415 - few agents run code
            named_container,
            newest_container,
        )

        code = self._parts.toolset.code
        assert code is not None  # noqa: S101 - it runs the tool
        assert isinstance(tool, CodeInterpreterTool | ShellTool)  # noqa: S101 - see IN_CONTAINERS
        async with self._choosing:
            found = self._journal.find(CONTAINER, NO_INPUT)
            known = msgspec.json.decode(found.body) if found is not None else ""
            newest = known or newest_container(self._context.items)
            container_id = await code.container_for(tool, self._context.tenant, newest)
            if not known and not named_container(tool):
                now, body = self._now(), encoded(container_id, CONTAINER)
                self._journal.put(CONTAINER, NO_INPUT, StepState.DONE, body, now, now)
                self._steps.store.ride(CONTAINER)
        return container_id


class _Call:
    """One call of a tool."""

    def __init__(self, parts: RunParts, behind: base.HostedTool, offer: Offer, tenant: str) -> None:
        self._parts = parts
        self._behind = behind
        self._offer = offer
        self._tenant = tenant

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Execute it; every failure is a result."""
        offer = self._offer
        assert offer.tool is not None  # noqa: S101 - see `_offer_of`
        use = base.Use(
            offer.tool,
            offer.name,
            arguments,
            self._tenant,
            was_provided=lambda text: True,  # its caller is the operator's code, not a model
            container_id=offer.container_id,
        )
        observed = ToolUse(None, self._tenant, offer.name, "extension", hosted=offer.kind)
        observers = self._parts.observers
        for hand_over in observers.used:
            hand_over(observed)
        try:
            until = asyncio.get_running_loop().time() + self._parts.toolset.seconds
            outcome = await executed(self._behind, offer.kind, use, until)
            observed.error = BackendError("The tool failed.") if outcome.is_failed else None
            observed.is_over = True
            observed.cpu, observed.paused = outcome.cpu, outcome.paused
        finally:
            for hand_over in observers.returned:
                hand_over(observed)
        return _result_of(outcome)


def _result_of(outcome: base.ToolOutcome) -> ToolResult:
    stated = outcome.stated
    content = [*([InputText(text=stated)] if isinstance(stated, str) else stated)]
    return ToolResult(content, dict(outcome.fields), outcome.is_failed, [*outcome.files])


def _outcome_of(step: Step) -> base.ToolOutcome:
    """Return the result of a step, for the item that shows it."""
    found = msgspec.json.decode(step.body, type=ToolResult)
    stated: str | Sequence[InputText | InputImage] = found.content
    if all(isinstance(part, InputText) for part in found.content):
        stated = found.text
    return base.ToolOutcome(stated, found.fields, found.is_failed, files=found.files)


def _kind_of(tool: Tool) -> Kind:
    """Return the kind of a tool. Raises `ValueError` for one that no server runs, and for images,
    which do not fit into the journal.
    """
    for kind in ("mcp", "web_search", "file_search", "code_interpreter", "shell"):
        if is_of(kind, tool):
            return kind
    raise ValueError(
        f"ctx.tool cannot run a tool of type {type_of(tool)!r}. It runs mcp, web_search, "
        "file_search, code_interpreter, and shell in a container."
    )


def _offer_of(tool: Tool, kind: Kind, name: str) -> Offer:
    if isinstance(tool, McpTool):
        return Offer("", "mcp", name, namespace=tool.server_label, is_hosted=True, tool=tool)
    offers = _offers_of(tool)
    found = next((one for one in offers if one.name == name), None)
    if found is None:
        names = ", ".join(one.name for one in offers)
        raise ValueError(f"The tool {kind!r} has no function {name!r}. It has: {names}.")
    return found


def _offers_of(tool: Tool) -> list[Offer]:
    match tool:
        case WebSearchTool():
            return web_offers(tool)
        case FileSearchTool():
            return [file_offer(tool)]
        case CodeInterpreterTool():
            return [code_offer(tool)]
        case ShellTool():
            return [container_shell_offer(tool)]
    return []


def _without_credentials(tool: Tool) -> Tool:
    """Return a tool as its digest covers it: a token that is renewed changes nothing."""
    return replace(tool, authorization=UNSET, headers=UNSET) if isinstance(tool, McpTool) else tool
