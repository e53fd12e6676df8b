"""Containers that answer from a table: for the loop's own tests, where no sandbox is needed."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.sources import CreatedFile
from antiphon.protocol.tools import CodeInterpreterTool, ShellTool, Tool
from antiphon.runs.containers import named_container
from antiphon.tools.base import ToolOutcome, Use

CODE: dict[str, Any] = {"type": "code_interpreter", "container": {"type": "auto"}}
SHELL: dict[str, Any] = {"type": "shell", "environment": {"type": "container_auto"}}
OUTPUTS = ["code_interpreter_call.outputs"]
PNG = "data:image/png;base64,iVBORw0KGgo="


def cell(*logs: str, files: tuple[CreatedFile, ...] = (), figures: int = 0) -> ToolOutcome:
    """What came of code that printed this, and showed so many figures."""
    outputs: list[dict[str, Any]] = [{"type": "logs", "logs": each} for each in logs]
    outputs += [{"type": "image", "url": PNG}] * figures
    return ToolOutcome("\n".join(logs) or "Done.", {"outputs": outputs}, files=files)


def printed(stdout: str, exit_code: int = 0) -> ToolOutcome:
    """What came of one command that printed this."""
    outcome = {"type": "exit", "exit_code": exit_code}
    output = {"stdout": stdout, "stderr": "", "outcome": outcome}
    return ToolOutcome(f"{stdout}\n[exit code {exit_code}]", {"output": [output]})


def created(name: str, container_id: str = "cntr_1", *, is_figure: bool = False) -> CreatedFile:
    """A file that code made; its id follows from its name."""
    file_id = f"cfile_{name.partition('.')[0]}"
    return CreatedFile(container_id, file_id, f"/mnt/data/{name}", name, is_figure)


Answer = Callable[[Use], ToolOutcome | Awaitable[ToolOutcome]]


class Notebooks:
    """Containers of a tenant: `known` run, `expired` do not.

    `answer` says what comes of each call.
    """

    def __init__(self, *results: ToolOutcome) -> None:
        self.known: set[str] = set()
        self.expired: set[str] = set()
        self.used: list[Use] = []
        self.requested: list[tuple[Tool, str, str]] = []
        """Each tool whose container was asked for, its tenant and the newest container of its
        conversation.
        """
        self.gate: asyncio.Event | None = None
        """Calls wait for it."""
        self._results = list(results)
        self._numbers = itertools.count(1)
        self.answer: Answer = lambda use: self._results.pop(0) if self._results else cell("4")

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Take everything."""

    async def container_for(
        self, tool: CodeInterpreterTool | ShellTool, tenant: str, newest: str
    ) -> str:
        self.requested.append((tool, tenant, newest))
        container_id = named_container(tool) or (newest if newest in self.known else "")
        if container_id in self.expired:
            raise ClientError("Container is expired.")
        if not container_id:
            return f"cntr_{next(self._numbers)}"
        if container_id not in self.known:
            raise ClientError("Container not found.", status=404)
        return container_id

    async def run(self, use: Use) -> ToolOutcome:
        self.used.append(use)
        self.known.add(use.container_id)
        if self.gate is not None:
            await self.gate.wait()
        found = self.answer(use)
        return found if isinstance(found, ToolOutcome) else await found

    async def close(self) -> None:
        """There is nothing to close."""
