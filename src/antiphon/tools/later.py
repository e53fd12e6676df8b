"""Hosted tools that are loaded by the first request that uses them."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from antiphon.protocol.tools import CodeInterpreterTool, FileSearchTool, ShellTool, Tool
from antiphon.tools.base import ContainerTools, FileSearches, HostedTool, ToolResult, Use

Built = TypeVar("Built", bound=HostedTool)


class HostedToolLater(Generic[Built]):
    """A tool that is built by `build` for the first request that uses it. It is a `HostedTool`."""

    def __init__(self, build: Callable[[], Built]) -> None:
        self._build = build
        self._built: Built | None = None

    @property
    def _tool(self) -> Built:
        self._built = self._built or self._build()
        return self._built

    def check(self, tool: Tool, path: str = "tools") -> None:
        """See `HostedTool.check`."""
        self._tool.check(tool, path)

    async def run(self, use: Use) -> ToolResult:
        """See `HostedTool.run`."""
        return await self._tool.run(use)

    async def close(self) -> None:
        """See `HostedTool.close`."""
        if self._built is not None:
            await self._built.close()


class FileSearchLater(HostedToolLater[FileSearches]):
    """The `file_search` tool. It is a `FileSearches`."""

    async def check_stores(self, tool: FileSearchTool, tenant: str) -> None:
        """See `FileSearches.check_stores`."""
        await self._tool.check_stores(tool, tenant)


class ContainerToolsLater(HostedToolLater[ContainerTools]):
    """The tools that run code. `release` is called at the end if no request used one. It is a `ContainerTools`."""

    def __init__(self, build: Callable[[], ContainerTools], release: Callable[[], Awaitable[None]]) -> None:
        super().__init__(build)
        self._release = release

    async def container_for(self, tool: CodeInterpreterTool | ShellTool, tenant: str, newest: str) -> str:
        """See `ContainerTools.container_for`."""
        return await self._tool.container_for(tool, tenant, newest)

    async def close(self) -> None:
        """See `HostedTool.close`."""
        await super().close()
        if self._built is None:
            await self._release()
