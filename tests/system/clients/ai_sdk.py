"""Vercel's AI SDK, two majors side by side: installed once; one Node.js process runs one scenario."""

import asyncio
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import npm

PINNED = Path(__file__).parent / "npm" / "ai-sdk"
"""The versions: npm's package.json and its lock. `ai-6` and `ai-7` are aliases of the two majors of `ai`."""

FOLDER = npm.CACHE / "ai-sdk"
SCRIPT = Path(__file__).with_name("ai_sdk.mjs")

MAJORS = (6, 7)

RUNNING = 60.0
"""Seconds that a scenario may take; it takes one."""


def install() -> Path:
    """Return the command of Node.js; first install the packages if they are missing. Skips the test like npm's."""
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


@dataclass
class AiSdk:
    """One major of the SDK, plain or streamed, against a base URL."""

    node: Path
    major: int
    stream: bool
    url: str

    async def run(self, scenario: str, *prompts: str, **options: Any) -> list[dict[str, Any]]:
        """Run a scenario of `ai_sdk.mjs`; return what the SDK returns for each turn.

        Raises `SdkError` if the SDK throws.
        """
        known = {"major": self.major, "stream": self.stream, "url": self.url}
        request = {**known, "scenario": scenario, "prompts": prompts, **options}
        printed = json.loads(await self._node(json.dumps(request)))
        if "error" in printed:
            raise SdkError(printed["error"])
        turns: list[dict[str, Any]] = printed["turns"]
        return turns

    async def _node(self, request: str) -> str:
        # From standard input: a module in a file would look for the packages beside that file.
        process = await asyncio.create_subprocess_exec(
            *(str(self.node), "--input-type=module", "-", request), cwd=FOLDER, stdin=-1, stdout=-1, stderr=-1
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(SCRIPT.read_bytes()), RUNNING)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, err.decode()
        return out.decode()
