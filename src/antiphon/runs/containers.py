"""The containers for the code and the commands of one response: resolved once,
before the model is called.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from antiphon.protocol.items.calls import ShellCall
from antiphon.protocol.items.hosted import CodeInterpreterCall
from antiphon.protocol.items.messages import InputItem, kinds_of
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.protocol.tool_bindings import Kind
from antiphon.protocol.tools import CodeInterpreterTool, ShellTool
from antiphon.runs.parts import RunParts
from antiphon.runs.plan import ResumeState, RunPlan
from antiphon.tools.base import ContainerTools
from antiphon.translation.tool_mapping.offering import is_callable, tools_of
from antiphon.upstream.backend_state import ModelTarget

CodeTool = CodeInterpreterTool | ShellTool

WITH_CONTAINER = frozenset[type]({CodeInterpreterCall, ShellCall})


async def contained(parts: RunParts, plan: RunPlan) -> RunPlan:
    """Return the plan with the containers of its tools. Raises `ClientError` as `containers_of`."""
    request = plan.request
    items = plan.items
    target = plan.route.target
    found = await containers_of(parts, request, items, target, plan.context.tenant, plan.resume)
    # A background response was resolved when it was queued, and a backend that runs the tools has
    # its own containers.
    is_ours = plan.resume is None and target.api_for(request, items) == "chat"
    return replace(
        plan, containers=found, response=echoed(plan.response, found) if is_ours else plan.response
    )


async def containers_of(
    parts: RunParts,
    request: CreateResponse,
    items: Sequence[InputItem],
    target: ModelTarget,
    tenant: str,
    resume: ResumeState | None = None,
) -> Mapping[Kind, str]:
    """Return the container of each kind of tool, which all calls of that kind use;
    empty without such tools.

    Tools that name no container share one. Raises `ClientError`: 404 for an unknown container or
    file of the request, 400 for an expired container.
    """
    tools = [
        tool for tool in tools_of(request, items) if isinstance(tool, CodeTool) and _runs_here(tool)
    ]
    behind = parts.toolset.code
    if behind is None or not tools:
        return {}
    if target.api_for(request, items) != "chat":
        # The backend runs them. If a Chat backend has to replace it, the first call reports
        # an invalid container.
        new = parts.new_id("cntr")
        return {_kind_of(tool): named_container(tool) or new for tool in tools}
    return await _found(behind, tools, tenant, newest_container(items, resume))


async def _found(
    behind: ContainerTools, tools: Sequence[CodeTool], tenant: str, newest: str
) -> Mapping[Kind, str]:
    found: dict[Kind, str] = {}
    for tool in sorted(tools, key=lambda tool: not named_container(tool)):
        container_id = await behind.container_for(tool, tenant, newest)
        if not named_container(tool) and found:
            container_id = next(iter(found.values()))
        found[_kind_of(tool)] = container_id
    return found


def _runs_here(tool: CodeTool) -> bool:
    return is_callable(tool) and (isinstance(tool, CodeInterpreterTool) or tool.is_hosted)


def _kind_of(tool: CodeTool) -> Kind:
    return "code_interpreter" if isinstance(tool, CodeInterpreterTool) else "shell"


def named_container(tool: CodeTool) -> str:
    """Return the id of the container that the request names, empty if the server chooses one."""
    if isinstance(tool, CodeInterpreterTool):
        return tool.container if isinstance(tool.container, str) else ""
    return str((tool.environment or {}).get("container_id") or "")


def newest_container(items: Sequence[InputItem], resume: ResumeState | None = None) -> str:
    """Return the container of the newest code or shell call, empty without such a call."""
    begun = (
        [record.container_id for record in resume.checkpoint.calls if record.container_id]
        if resume
        else []
    )
    if begun:
        return begun[-1]
    created = [*reversed(resume.stored)] if resume else []
    if WITH_CONTAINER.isdisjoint(kinds_of(items)) and WITH_CONTAINER.isdisjoint(map(type, created)):
        return ""
    containers = (_container_of(item) for part in (created, reversed(items)) for item in part)
    return next(filter(None, containers), "")


def _container_of(item: Any) -> str:
    if isinstance(item, CodeInterpreterCall):
        return item.container_id
    if isinstance(item, ShellCall) and item.environment:
        return str(item.environment.get("container_id") or "")
    return ""


def echoed(response: Response, containers: Mapping[Kind, str]) -> Response:
    """Return the response with the shell's container in the echo of its tool (recorded)."""
    container_id = containers.get("shell")
    if container_id is None:
        return response
    environment = {"type": "container_reference", "container_id": container_id}
    return replace(response, tools=[_with(tool, environment) for tool in response.tools])


def _with(tool: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    is_auto = (
        tool.get("type") == "shell"
        and (tool.get("environment") or {}).get("type") == "container_auto"
    )
    return {**tool, "environment": environment} if is_auto else tool
