"""Lists the tools of MCP servers for one response, and reports each list in an item."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from functools import partial
from http import HTTPStatus

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.events import STEP_EVENTS
from antiphon.protocol.items.hosted import McpListTools, tool_listed
from antiphon.protocol.tools import McpTool
from antiphon.runs.steps import ListTools
from antiphon.runs.tool_progress import cancel
from antiphon.tools.base import ToolListing
from antiphon.tools.registry import Toolset
from antiphon.translation.tool_mapping.mcp import permitted, too_many
from antiphon.translation.writer import ResponseWriter

LEFT = "The response ended before the list came."

NOT_HERE = "This server does not run the tool any more."
"""The error of a list, or a call, of a tool that a request or its history has."""

_STATUSES = frozenset(HTTPStatus)


async def list_tools(
    step: ListTools, toolset: Toolset, tenant: str, writer: ResponseWriter
) -> AsyncGenerator[None, None]:
    """List the tools of the servers, all in parallel; yield whenever there may be events to send.

    Raises `ClientError` (424) for a server that cannot be listed, if its list is needed.
    """
    pending = [asyncio.ensure_future(_list(toolset, tool, tenant)) for tool in step.servers]
    try:
        for tool, listing in zip(step.servers, pending, strict=True):
            known = step.listed.get(tool.server_label)
            if known is None or _differs(known, tool, await listing):
                async for _ in _report_list(writer, tool, listing, is_needed=toolset.needs_lists):
                    yield
    finally:
        await cancel(pending)


async def _list(toolset: Toolset, tool: McpTool, tenant: str) -> ToolListing:
    servers = toolset.mcp
    return await servers.list(tool, tenant) if servers else ToolListing(error=NOT_HERE)


async def _report_list(
    writer: ResponseWriter, tool: McpTool, listing: Awaitable[ToolListing], *, is_needed: bool
) -> AsyncGenerator[None, None]:
    """Emit an `mcp_list_tools` item (specification section 16)."""
    label = tool.server_label
    item = McpListTools(id=writer.new_id("mcpl"), server_label=label, tools=[])
    index = writer.open_item(item)
    step = partial(_report_step, writer, index, str(item.id))
    step("in_progress")
    writer.waiting[index] = lambda: writer.close_item(index, replace(item, error=LEFT))
    yield
    found = await listing
    tools = [dict(each) for each in permitted(tool, found.tools)]
    error = found.error or too_many(tool, tools)
    step("failed" if error else "completed")
    writer.close_item(index, replace(item, tools=[] if error else tools, error=error or UNSET))
    yield
    if error and is_needed:
        raise _no_list(label, error, found.status)


def _report_step(writer: ResponseWriter, output_index: int, item_id: str, step: str) -> None:
    writer.emit(STEP_EVENTS["mcp_list_tools", step](output_index=output_index, item_id=item_id))


def _no_list(label: str, error: str, status: int) -> ClientError:
    """Return the error if the tools of a server cannot be listed (specification section 23)."""
    reason = (
        f"Http status code: {status} ({HTTPStatus(status).phrase})"
        if status in _STATUSES
        else error
    )
    return ClientError(
        f"Error retrieving tool list from MCP server: '{label}'. {reason}",
        status=424,
        type="external_connector_error",
        code="http_error",
        param="tools",
    )


def _differs(known: McpListTools, tool: McpTool, found: ToolListing) -> bool:
    """Whether the conversation's list of a server's tools differs from the current one."""
    return (
        not found.error
        and [tool_listed(each) for each in permitted(tool, found.tools)] != known.tools
    )
