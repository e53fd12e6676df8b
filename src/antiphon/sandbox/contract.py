"""The interface of a sandbox, for any technology: bubblewrap, gVisor, Firecracker, a Kubernetes job
or a service.

A new technology is one new file with a `Sandbox`. Everything that a machine returns comes from
untrusted code.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

DATA = "/mnt/data"
"""The working directory in every machine. Only files in this directory are retained."""

Ending = Literal["completed", "timeout", "memory", "lost"]
"""How a call ended: on its own (also with an exception), at its time limit, at the memory limit, or
with the machine.

After every ending except `completed` the machine is dead: its variables are lost, its files can
still be read if `Machine.files` returns them.
"""


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """The limits of one machine."""

    memory: int
    """Bytes of memory of all its processes together."""
    processes: int = 64
    file_size: int = 256 * 1024 * 1024
    """Bytes of one file."""
    disk: int = 512 * 1024 * 1024
    """Bytes of all files."""
    files: int = 100
    """Files that are retained."""
    output: int = 1024 * 1024
    """Bytes of text that one call returns; the middle of a longer text is omitted."""
    owner: str = ""
    """The tenant: all machines of an owner share its part of the CPU."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One file in `DATA`."""

    name: str
    """One path component."""
    size: int
    version: str
    """Changes when the file changes."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a call took of the host, in seconds; 0 if unknown."""

    cpu: float = 0.0
    """CPU time of all processes of the machine together, those that have ended included."""
    paused: float = 0.0
    """For how long the processes were paused, because the machines of their owner used more than
    their share.
    """

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.cpu + other.cpu, self.paused + other.paused)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.cpu - other.cpu, self.paused - other.paused)


NOTHING = Spent()


@dataclass(frozen=True, slots=True)
class CodeResult:
    """The output of Python code, in the order of a notebook: printed text, the figures, the last
    value.
    """

    printed: str = ""
    """Standard output and standard error in their order, with the traceback of an exception."""
    figures: Sequence[bytes] = ()
    """PNG images of the figures that the code showed."""
    value: str = ""
    """`repr` of the last expression; empty without an expression, and for None."""
    ending: Ending = "completed"
    spent: Spent = NOTHING


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The output of one shell command."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = 0
    """None if the command was ended."""
    ending: Ending = "completed"
    """After `timeout` the machine continues, unlike after code: only the command is ended."""
    spent: Spent = NOTHING


class Machine(Protocol):
    """One running machine. One call at a time uses it; every method raises `SandboxError` if the
    machine is lost.
    """

    @property
    def is_alive(self) -> bool:
        """Whether the machine still runs, with its variables."""
        ...

    async def put(self, name: str, content: AsyncIterable[bytes]) -> None:
        """Write a file into `DATA`. Raises `ValueError` unless `name` is one path component."""
        ...

    async def files(self) -> Sequence[FoundFile]:
        """Return the regular files in `DATA`, without links, devices and sockets, at most
        `MachineLimits.files`.
        """
        ...

    def read(self, name: str, limit: int) -> AsyncGenerator[bytes, None]:
        """Yield the content of a file in `DATA`, at most `limit` bytes, in parts of at most 1
        MiB.
        """
        ...

    async def run_code(self, code: str, seconds: float) -> CodeResult:
        """Run Python code; variables, imports and the working directory persist for later calls.

        No other errors.
        """
        ...

    async def run_command(self, command: str, seconds: float, output: int) -> CommandResult:
        """Run a command by `sh -c` in `DATA`; `output` is how many characters of each stream are
        returned.
        """
        ...

    def memory(self) -> int:
        """Return the bytes of memory that the machine uses now; 0 if unknown."""
        ...

    async def close(self) -> None:
        """End the machine with all its processes, and delete its files; a running call is `lost`.

        Raises nothing.
        """
        ...


class Sandbox(Protocol):
    """Makes machines."""

    async def probe(self) -> str:
        """Return why no machine can run here, in a sentence with the remedy; empty if machines
        run.
        """
        ...

    async def start(self, limits: MachineLimits) -> Machine:
        """Return a new machine, ready for its first call. Raises `SandboxError`."""
        ...

    async def close(self) -> None:
        """End every machine."""
        ...


class SandboxError(Exception):
    """A machine cannot be started, or is lost.

    The message is for the operator and for the model.
    """
