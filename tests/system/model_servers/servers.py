"""Real model servers, each a process of its own in a virtual environment of its own that `make
test-backends` made.
"""

import asyncio
import os
import subprocess
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from bench.ports import free_port

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
PATIENCE = 120.0
"""Seconds that a server has to be there: importing PyTorch takes some on a busy machine."""

LONGEST_LINE = 2**24
"""Bytes: tracebacks repeat what was sent."""

CONTEXT = 2048
"""Tokens that the llama.cpp server takes."""


@dataclass(frozen=True)
class Kind:
    """What makes a kind of model server."""

    name: str
    """Its dialect."""
    folder: str
    """Its virtual environment, in `.backends`."""
    model: str
    command: Sequence[str]
    maker: str = ""
    """The script that writes its model; empty if the model is there."""
    file: str = ""
    """What that script is told to write, in the folder of the test."""
    ready: str = "Uvicorn running"
    """Printed once the server is listening."""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return ROOT / ".backends" / self.folder

    @property
    def is_installed(self) -> bool:
        return (self.home / ".installed").exists()


LLAMA = Kind(
    name="llama-cpp-python",
    folder="llama-cpp",
    model="noise",
    maker="llama_model.py",
    file="noise.gguf",
    command=(
        *("python", "-m", "llama_cpp.server", "--model", "noise.gguf", "--model_alias", "noise"),
        *("--n_ctx", str(CONTEXT), "--n_threads", "1", "--verbose", "false"),
    ),
)
LLAMA_SERVER = Kind(
    name="llamacpp",
    folder="llama-cpp",
    model="noise",
    maker="llama_model.py",
    file="noise.gguf",
    command=(
        *("llama-server", "--model", "noise.gguf", "--alias", "noise", "--jinja"),
        *("--ctx-size", str(CONTEXT), "--parallel", "1", "--threads", "1"),
    ),
    ready="llama_server: listening",
)
TRANSFORMERS = Kind(
    name="transformers",
    folder="transformers",
    model="tiny/noise",
    maker="transformers_model.py",
    file="hub",
    command=("transformers", "serve", "--device", "cpu", "--host", "127.0.0.1"),
    environment={"HF_HUB_CACHE": "hub", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
)
CHOSEN = os.environ.get("ANTIPHON_MODEL")
"""The file of a stronger model than the one that is installed."""

REAL_MODEL = Path(CHOSEN or "SmolLM2-135M-Instruct.gguf").stem
REAL = Kind(
    name="llamacpp",
    folder="xllamacpp",
    model=REAL_MODEL,
    command=(
        *("python", str(HERE / "xllamacpp_server.py"), "--alias", REAL_MODEL),
        *(("--model", str(Path(CHOSEN).resolve())) if CHOSEN else ()),
    ),
    ready="listening on",
)
"""A model that understands what it reads. It is slow, so it is not among those that every test
asks.
"""

KINDS = (LLAMA, TRANSFORMERS)


@dataclass
class ModelServer:
    """A model server, on one port for all its life; `lines` is what it printed."""

    kind: Kind
    home: Path
    port: int
    lines: list[str] = field(default_factory=list)
    _process: asyncio.subprocess.Process | None = None
    _reading: asyncio.Task[None] | None = None
    _printed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start it; it is ready, and has its model in memory."""
        program, *arguments = self.kind.command
        self._process = await asyncio.create_subprocess_exec(
            self.kind.home / "bin" / program,
            *arguments,
            "--port",
            str(self.port),
            cwd=self.home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "PYTHONUNBUFFERED": "1",
                **self.kind.environment,
            },
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            limit=LONGEST_LINE,
        )
        times = self.printed(self.kind.ready) + 1
        self._reading = asyncio.create_task(self._read())
        await self.prints(self.kind.ready, times=times)
        status, answer = await self.send_request("Hello")
        assert status == 200, answer

    async def stop(self) -> None:
        """Kill it, whatever it is doing."""
        assert self._process is not None
        assert self._reading is not None
        if self.is_running:
            self._process.kill()
        await self._process.wait()
        await self._reading

    async def prints(self, words: str, *, times: int = 1) -> None:
        """Wait until it has printed these words so many times."""
        async with asyncio.timeout(PATIENCE), self._printed:
            await self._printed.wait_for(lambda: self._has_ended or self.printed(words) >= times)
        assert self.printed(words) >= times, "\n".join(self.lines[-40:])

    def printed(self, words: str) -> int:
        """How many lines have these words."""
        return sum(words in line for line in self.lines)

    @property
    def _has_ended(self) -> bool:
        return self._reading is None or self._reading.done()

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            async with self._printed:
                self.lines.append(line.decode("utf-8", "replace").rstrip())
                self._printed.notify_all()

    async def post(self, **body: Any) -> tuple[int, bytes]:
        """Ask its chat completions directly; the status, and all bytes that came."""
        body = {
            "model": self.kind.model,
            "messages": [{"role": "user", "content": "Hello"}],
            **body,
        }
        received = b""
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{self.url}/chat/completions", json=body) as response,
        ):
            try:
                async for part in response.content.iter_any():
                    received += part
            except aiohttp.ClientPayloadError:
                received += b"<broken off>"
            return response.status, received

    async def list(self) -> None:
        """Ask it for its models directly."""
        async with aiohttp.ClientSession() as http, http.get(f"{self.url}/models") as response:
            assert response.status == 200

    async def send_request(self, text: str, **body: Any) -> tuple[int, bytes]:
        """Ask it to answer one message."""
        return await self.post(messages=[{"role": "user", "content": text}], **body)


@asynccontextmanager
async def running(kind: Kind, home: Path) -> AsyncIterator[ModelServer]:
    """Write a server's model into a folder, and run the server there until the end of the block."""
    if kind.maker:
        write_model(kind, home)
    server = ModelServer(kind, home, free_port())
    try:
        await server.start()
        yield server
    finally:
        await server.stop()


def write_model(kind: Kind, home: Path) -> None:
    """Run the script that writes the model, by the server's own Python."""
    command = [kind.home / "bin" / "python", HERE / kind.maker, home / kind.file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
