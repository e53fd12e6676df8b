"""Claude Code from npm, without a terminal, against a server of ours."""

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import npm
from tests.support.command import environment

PINNED = Path(__file__).parent / "npm" / "claude"
"""Which Claude Code: npm's package.json and its lock, with the package of this platform alone."""

FOLDER = npm.CACHE / "claude"
RUNNING = 120.0
"""Seconds that a run may take; it takes two."""


class Outcome(NamedTuple):
    """What a run ended with, as its JSON says."""

    code: int
    result: dict[str, Any]

    @property
    def text(self) -> str:
        """The answer."""
        return str(self.result.get("result"))


def install() -> Path:
    """Return the program. Skips the test like `npm.install`."""
    npm.install(PINNED, "Claude Code", "claude", folder=FOLDER)
    return FOLDER / "node_modules/@anthropic-ai/claude-code-linux-x64/claude"


async def run(folder: Path, url: str, model: str, prompt: str, *flags: str) -> Outcome:
    """Let it answer a prompt in a folder, with an empty home."""
    program = install()
    home, work = folder / "home", folder / "work"
    for each in (home, work):
        each.mkdir(exist_ok=True)
    variables = environment(
        home,
        ANTHROPIC_BASE_URL=url.removesuffix("/v1"),
        ANTHROPIC_AUTH_TOKEN="sk-test",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        TMPDIR=str(folder),
    )
    process = await asyncio.create_subprocess_exec(
        *(str(program), "-p", prompt, "--model", model, "--output-format", "json", *flags),
        cwd=work,
        env=variables,
        stdin=-3,
        stdout=-1,
        stderr=-1,
    )
    out, err = await asyncio.wait_for(process.communicate(), RUNNING)
    assert out, err.decode()[-2000:]
    return Outcome(process.returncode or 0, json.loads(out))
