"""Hosted tools that are loaded by the first request that has them."""

from collections.abc import Awaitable, Callable

from antiphon.protocol.tools import CodeInterpreterTool, FileSearchTool, ShellTool, Tool
from antiphon.tools.base import ContainerTools, FileSearches, ToolResult, Use


class FileSearchLater:
    """The `file_search` tool, built by `build` for the first request that has it. It is a `FileSearches`."""

    def __init__(self, build: Callable[[], FileSearches]) -> None:
        self._build = build
        self._built: FileSearches | None = None

    @property
    def _tool(self) -> FileSearches:
        self._built = self._built or self._build()
        return self._built

    def check(self, tool: Tool, path: str = "tools") -> None:
        """See `HostedTool.check`."""
        self._tool.check(tool, path)

    async def check_stores(self, tool: FileSearchTool, tenant: str) -> None:
        """See `FileSearches.check_stores`."""
        await self._tool.check_stores(tool, tenant)

    async def run(self, use: Use) -> ToolResult:
        """See `HostedTool.run`."""
        return await self._tool.run(use)

    async def close(self) -> None:
        """See `HostedTool.close`."""
        if self._built is not None:
            await self._built.close()


class ContainerToolsLater:
    """The tools that run code, built by `build` for the first request that has one. It is a `ContainerTools`.

    `release` is called at the end if there was no such request.
    """

    def __init__(self, build: Callable[[], ContainerTools], release: Callable[[], Awaitable[None]]) -> None:
        self._build, self._release = build, release
        self._built: ContainerTools | None = None

    @property
    def _tool(self) -> ContainerTools:
        self._built = self._built or self._build()
        return self._built

    def check(self, tool: Tool, path: str = "tools") -> None:
        """See `HostedTool.check`."""
        self._tool.check(tool, path)

    async def container_for(self, tool: CodeInterpreterTool | ShellTool, tenant: str, newest: str) -> str:
        """See `ContainerTools.container_for`."""
        return await self._tool.container_for(tool, tenant, newest)

    async def run(self, use: Use) -> ToolResult:
        """See `HostedTool.run`."""
        return await self._tool.run(use)

    async def close(self) -> None:
        """See `HostedTool.close`."""
        if self._built is not None:
            await self._built.close()
        else:
            await self._release()
