"""Machines without isolation: what they run is Python of the tests, in this process, with files in
a dictionary.
"""

import asyncio
import contextlib
import io
import traceback
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from typing import Any

from antiphon.sandbox.contract import (
    CodeResult,
    CommandResult,
    Ending,
    FoundFile,
    MachineLimits,
    SandboxError,
    Spent,
)

PNG = b"\x89PNG\r\n\x1a\n a figure"


class FakeMachine:
    """Code sees `files`, its files by name; `show(png)`; `spend(cpu, paused)`; `end(ending)` ends
    the machine.

    Code that is `wait()` runs until `gate` is set. A command `name=text` writes a file, `exit N`
    has this exit code.
    """

    def __init__(self, limits: MachineLimits) -> None:
        self.limits = limits
        self.data: dict[str, bytes] = {}
        self.variables: dict[str, Any] = {}
        self.is_alive = True
        self.is_closed = False
        self.gate = asyncio.Event()
        self.entered = asyncio.Event()
        self.put_names: list[str] = []
        self.is_running = False

    def memory(self) -> int:
        return 1024

    async def put(self, name: str, content: AsyncIterable[bytes]) -> None:
        if "/" in name:
            raise ValueError(name)
        self.put_names.append(name)
        self.data[name] = b"".join([piece async for piece in content])

    async def files(self) -> Sequence[FoundFile]:
        if self.is_closed:
            raise SandboxError("The machine is lost.")
        found = [
            FoundFile(name, len(data), str(hash(data))) for name, data in sorted(self.data.items())
        ]
        return found[: self.limits.files]

    async def read(self, name: str, limit: int) -> AsyncGenerator[bytes, None]:
        yield self.data[name][:limit]

    async def run_code(self, code: str, seconds: float) -> CodeResult:
        assert not self.is_running, "two calls at once in one machine"
        self.is_running = True
        self.entered.set()
        try:
            if code == "wait()":
                await self.gate.wait()
                return CodeResult("waited\n")
            return self._run(code)
        finally:
            self.is_running = False

    def _run(self, code: str) -> CodeResult:
        printed = io.StringIO()
        figures = list[bytes]()
        endings = list[Ending]()
        spent = list[Spent]()
        self.variables |= {"files": self.data, "show": figures.append, "end": endings.append}
        self.variables["spend"] = lambda cpu, paused: spent.append(Spent(cpu, paused))
        value = None
        with contextlib.redirect_stdout(printed):
            try:
                *lines, last = code.split("\n")
                exec("\n".join(lines), self.variables)
                try:
                    value = eval(last, self.variables)
                except SyntaxError:
                    exec(last, self.variables)
            except Exception:
                printed.write(traceback.format_exc())
        self.is_alive = not endings
        displayed = "" if value is None or endings else repr(value)
        ending = endings[0] if endings else "completed"
        return CodeResult(printed.getvalue(), figures, displayed, ending, sum(spent, Spent()))

    async def run_command(self, command: str, seconds: float, output: int) -> CommandResult:
        word, _, rest = command.partition(" ")
        if word == "rm":
            for name in rest.split()[2:]:
                self.data.pop(name.strip("'"), None)
            return CommandResult()
        if word == "sleep":
            return CommandResult(exit_code=None, ending="timeout")
        if word == "spin":
            return CommandResult(spent=Spent(*map(float, rest.split())))
        if word == "end":
            self.is_alive = False
            return CommandResult(exit_code=None, ending="memory")
        if word == "exit":
            return CommandResult("out", "err", int(rest))
        name, _, text = command.partition("=")
        self.data[name] = text.encode()
        return CommandResult(text[:output])

    async def close(self) -> None:
        self.is_alive = False
        self.is_closed = True


class FakeSandbox:
    """Makes such machines. `problem` is what the probe finds; with `is_broken` none starts."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.is_broken = False
        self.machines: list[FakeMachine] = []
        self.is_closed = False

    @property
    def alive(self) -> list[FakeMachine]:
        return [one for one in self.machines if not one.is_closed]

    async def probe(self) -> str:
        return self.problem

    async def start(self, limits: MachineLimits) -> FakeMachine:
        if self.is_broken:
            raise SandboxError("No machine can start.")
        machine = FakeMachine(limits)
        self.machines.append(machine)
        return machine

    async def close(self) -> None:
        self.is_closed = True
