"""Vercel's AI SDK, two majors side by side: installed once; one process of Node.js runs all
scenarios.
"""

import asyncio
import atexit
import json
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support import npm
from tests.support.cpu import clock

PINNED = Path(__file__).parent / "npm" / "ai-sdk"
"""The versions: npm's package.json and its lock. `ai-6` and `ai-7` are aliases of the two majors of
`ai`.
"""

FOLDER = npm.CACHE / "ai-sdk"
SCRIPT = Path(__file__).with_name("ai_sdk.mjs")

MAJORS = (6, 7)

RUNNING = 60.0
"""Seconds that a scenario may take; the first of a process loads the SDK."""


def install() -> Path:
    """Return the command of Node.js; first install the packages if they are missing.

    Skips the test like npm's.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("the AI SDK runs in Node.js, and Node.js is missing")
    npm.install_packages(PINNED, "the AI SDK", folder=FOLDER)
    return Path(node)


class SdkError(Exception):
    """The SDK threw; `error` has name, message, HTTP status and body of its error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error.get('name')}: {error.get('message')}")
        self.error = error


class _Node:
    """A process of Node.js that has loaded the SDK."""

    def __init__(self, node: Path, folder: Path) -> None:
        # The program is an argument: a module in a file would look for the packages beside that
        # file.
        command = [str(node), "--input-type=module", "--eval", SCRIPT.read_text()]
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self.end)
        clock.watch(self._process.pid)

    def send_request(self, request: str) -> str:
        """Run a scenario to its end; return the line that answers, empty if the process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{request}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@cache
def _loaded(node: Path, folder: Path) -> _Node:
    return _Node(node, folder)


@dataclass
class AiSdk:
    """One major of the SDK, plain or streamed, against a base URL."""

    node: Path
    major: int
    stream: bool
    url: str
    folder: Path = FOLDER
    """Where the SDK is installed."""

    async def run(self, scenario: str, *prompts: str, **options: Any) -> list[dict[str, Any]]:
        """Run a scenario of `ai_sdk.mjs`; return what the SDK returns for each turn.

        Raises `SdkError` if the SDK throws.
        """
        known = {"major": self.major, "stream": self.stream, "url": self.url}
        request = {**known, "scenario": scenario, "prompts": prompts, **options}
        loaded = _loaded(self.node, self.folder)
        try:
            answer = await asyncio.wait_for(
                asyncio.to_thread(loaded.send_request, json.dumps(request)), RUNNING
            )
            assert answer, "Node.js ended"
        except (TimeoutError, AssertionError):
            _loaded.cache_clear()
            loaded.end()
            raise
        printed = json.loads(answer)
        if "error" in printed:
            raise SdkError(printed["error"])
        turns: list[dict[str, Any]] = printed["turns"]
        return turns
