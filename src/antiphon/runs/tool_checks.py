"""The tools of a request before it runs: which of them this server runs, and what it rejects."""

from collections.abc import Sequence
from typing import Any

from antiphon.protocol.items.calls import ToolSearchCall, ToolSearchOutput
from antiphon.protocol.items.messages import InputItem, kinds_of
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import FileSearchTool, FunctionTool, ImageGenerationTool, Tool
from antiphon.runs.parts import RunParts
from antiphon.runs.plan import RunPlan
from antiphon.runs.tool_policy import CONCERNED, inspect_tools
from antiphon.tools.registry import Toolset, is_of
from antiphon.translation.dialects.dialect import Api
from antiphon.translation.tool_mapping.offering import WITH_TOOLS
from antiphon.translation.tool_mapping.offering import tools_of as requested_tools
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.permitted import check_permitted, restriction

BRINGS_WORK: frozenset[type[Any]] = frozenset({*CONCERNED, ToolSearchCall, ToolSearchOutput})
"""Items that can require more from this server than one call of the model."""


def toolset_of(
    toolset: Toolset, request: CreateResponse, items: Sequence[InputItem]
) -> Toolset | None:
    """Return the tools if more than the model's own answer may be required, else None."""
    if request.tools is not None and not {FunctionTool}.issuperset(map(type, request.tools)):
        return toolset
    return None if BRINGS_WORK.isdisjoint(kinds_of(items)) else toolset


def checked_tools(
    parts: RunParts, request: CreateResponse, items: Sequence[InputItem], target: ModelTarget
) -> Sequence[str]:
    """Return the types of tools that are omitted.

    Raises `ClientError` for a tool that cannot be used as it is.
    """
    if request.tools is None and BRINGS_WORK.isdisjoint(kinds_of(items)):
        return ()
    api: Api = target.api_for(request, items)
    ignored = inspect_tools(
        request, items, api, parts.toolset.supported, refuses=parts.rules.strict_tools
    )
    if api == "chat" and not parts.toolset.runs_none(tools := request.tools or ()):
        parts.toolset.check(tools)
    if restriction.get():
        for tool in requested_tools(request, items):
            model = _model_of(parts, tool) if api == "chat" else _model_at_backend(tool)
            check_permitted(model, f"The tool '{type(tool).__struct_config__.tag}'", "tools")
    return ignored


def _model_of(parts: RunParts, tool: Tool) -> str:
    """Return the model that a tool of this server calls; empty for none."""
    models = {
        ImageGenerationTool: parts.rules.images_model,
        FileSearchTool: parts.rules.embedding_model,
    }
    return models.get(type(tool), "") if parts.toolset.runs(tool) else ""


def _model_at_backend(tool: Tool) -> str:
    """Return the model that a tool of a backend with a Responses API calls; empty for none.

    Without a name in the tool, the backend selects one that no key names.
    """
    return tool.model or "the backend's own" if isinstance(tool, ImageGenerationTool) else ""


async def check_stores(
    parts: RunParts,
    request: CreateResponse,
    items: Sequence[InputItem],
    target: ModelTarget,
    tenant: str,
) -> None:
    """Raise `ClientError` for a tool's vector store that cannot be searched: 404 if unknown,
    400 if expired.

    A backend with a Responses API has its own vector stores.
    """
    if parts.toolset.runs_none(request.tools or ()) and kinds_of(items).isdisjoint(WITH_TOOLS):
        return
    tools = [tool for tool in requested_tools(request, items) if isinstance(tool, FileSearchTool)]
    if tools and target.api_for(request, items) == "chat":
        await parts.toolset.check_stores(tools, tenant)


async def check_queued(
    parts: RunParts,
    request: CreateResponse,
    items: Sequence[InputItem],
    target: ModelTarget,
    tenant: str,
) -> Sequence[str]:
    """Check the tools of a request that runs later, and create its containers; return the types of
    tools that are omitted.

    Raises `ClientError` for what a request in the foreground would be refused.
    """
    ignored = checked_tools(parts, request, items, target)
    await check_stores(parts, request, items, target, tenant)
    if runs_code(parts, request, items):
        from antiphon.runs.containers import containers_of  # noqa: PLC0415 - few requests run code

        await containers_of(parts, request, items, target, tenant)
    return ignored


async def with_containers(parts: RunParts, plan: RunPlan) -> RunPlan:
    """Return the plan with the containers of its tools.

    Raises `ClientError` as `containers.containers_of`.
    """
    if not runs_code(parts, plan.request, plan.items):
        return plan
    from antiphon.runs.containers import contained  # noqa: PLC0415 - few requests run code

    return await contained(parts, plan)


def runs_code(parts: RunParts, request: CreateResponse, items: Sequence[InputItem]) -> bool:
    """Whether this server can run code or commands in a container for a request."""
    if parts.toolset.code is None:
        return False
    return any(
        is_of("code_interpreter", tool) or is_of("shell", tool)
        for tool in requested_tools(request, items)
    )
