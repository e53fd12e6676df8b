"""The Codex command: installed into the checkout once, and run in a home and a folder of its
own.
"""

import asyncio
import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import npm
from tests.support.command import environment

PINNED = Path(__file__).parent / "npm" / "codex"
"""Which Codex: npm's package.json and its lock."""

NOWHERE = "http://127.0.0.1:1"
"""A proxy that nobody runs: Codex looks for plugins on the network, and shall not find it."""

RUNNING = 60.0
"""Seconds that a run may take; it takes one."""


def install() -> Path:
    """Return the command; first install this version if it is missing.

    Skips the test like `npm.install`.
    """
    return npm.install(PINNED, "Codex", "codex", trial=("--version",))


PROMPT = "Begin the work at Dover."

CONFIGURATION = """\
model = {model}
model_provider = "local"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.local]
name = {provider}
base_url = {url}
wire_api = "responses"
supports_websockets = {websockets}
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = 15000
"""


@dataclass
class Run:
    """What Codex did: its exit code, its events, and all that it printed besides."""

    code: int
    events: list[dict[str, Any]]
    complaints: str

    def done(self, kind: str) -> list[dict[str, Any]]:
        """The completed items of a type."""
        return [
            event["item"]
            for event in self.events
            if event["type"] == "item.completed" and event["item"]["type"] == kind
        ]

    @property
    def stated(self) -> list[str]:
        """Its messages."""
        return [message["text"] for message in self.done("agent_message")]

    @property
    def printed(self) -> str:
        """What the commands printed that it ran."""
        return "".join(command["aggregated_output"] for command in self.done("command_execution"))


@dataclass
class Codex:
    """The command for one test, with a home and a folder to work in; `url` is the base URL of its
    provider.
    """

    command: Path
    home: Path
    work: Path
    url: str

    @classmethod
    def within(cls, folder: Path, url: str) -> "Codex":
        """Install the command, and make a home and a folder to work in.

        Skips the test like `install`.
        """
        home = folder / "home"
        work = folder / "work"
        home.mkdir()
        work.mkdir()
        return cls(install(), home, work, url)

    async def run(
        self,
        *flags: str,
        prompt: str = PROMPT,
        model: str = "fake-model",
        provider: str = "Antiphon",
        websockets: bool = False,
    ) -> Run:
        """Let it take one turn.

        Raises `AssertionError` with what it said where the turn failed.
        """
        values = {"model": model, "provider": provider, "url": self.url, "websockets": websockets}
        written = CONFIGURATION.format(
            **{name: json.dumps(value) for name, value in values.items()}
        )
        (self.home / "config.toml").write_text(written)
        code, out, err = await self._exec(*flags, prompt)
        events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        run = Run(code, events, err)
        assert run.code == 0, f"{out}\n{err}"
        return run

    async def _exec(self, *arguments: str) -> tuple[int, str, str]:
        flags = (
            "--json",
            "--skip-git-repo-check",
            "-C",
            str(self.work),
            "-s",
            "danger-full-access",
        )
        process = await asyncio.create_subprocess_exec(
            *(str(self.command), "exec", *flags, *arguments),
            env=environment(self.home, CODEX_HOME=str(self.home), HTTPS_PROXY=NOWHERE),
            stdin=-3,
            stdout=-1,
            stderr=-1,
            start_new_session=True,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), RUNNING)
        finally:
            if (
                process.returncode is None
            ):  # npm's command is a launcher: what it launched has to go with it
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return process.returncode or 0, out.decode(), err.decode()
