"""Codex and opencode complete a task with every personality: they read a repository, edit a file, and run its test."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command import antiphon
from tests.system.clients import codex
from tests.system.clients.personalities.task import (
    DONE,
    PROMPT,
    Call,
    Step,
    codex_calls,
    opencode_calls,
    passes,
    write_repository,
)
from tests.system.clients.personalities.weaknesses import PERSONALITIES, Actor, Personality
from tests.system.clients.test_launch import CASES, RUNNING

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Client:
    arguments: tuple[str, ...]
    calls: Callable[[Path], Mapping[Step, Call]]
    window: int
    """Tokens of a small window: opencode's own prompt has 7,500, Codex's 3,500."""


CLIENTS: Mapping[str, Client] = {
    "codex": Client(("exec", "--skip-git-repo-check", "-s", "danger-full-access", PROMPT), codex_calls, 8_192),
    "opencode": Client(("run", PROMPT), opencode_calls, 12_288),
}

ALWAYS_ON = {"no tools", "open schema"}
"""What no setting switches off: a server that rejects tools gets them in the prompt."""

OFF = "loop_calls = 0\nloop_text = 0\n"
OFF_BACKEND = 'dialect = "together"\ncheck_answers = false\n'
"""A service, which is trusted with the calls of its models, and whose answers are not checked."""


async def completes(name: str, personality: Personality, folder: Path, *, is_on: bool = True) -> bool:
    """Whether a client completes the task with a personality; with the features off, where the settings can do so."""
    client, home, work = CLIENTS[name], folder / "home", folder / "work"
    for path in (home, work):
        path.mkdir()
    write_repository(work)
    command = CASES[name].install()
    async with Actor(personality, client.calls(work), client.window).serve() as actor:
        backend = f'[[backends]]\nname = "tide"\nurl = "{actor.url}"\n'
        on = backend + personality.backend + personality.settings.format(window=client.window)
        settings = on if is_on else OFF + backend + OFF_BACKEND
        (folder / "antiphon.toml").write_text(settings)
        variables = {
            "HOME": str(home),
            "PATH": f"{command.parent}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "HTTPS_PROXY": codex.NOWHERE,
            "TMPDIR": str(folder),
        }
        flags = ("--config", str(folder / "antiphon.toml"), "--port", "0", "--", *client.arguments)
        done = await antiphon(work, "launch", name, *flags, patience=RUNNING, **variables)
    print(done.out[-2000:], done.err[-2000:])
    return passes(work) and DONE in done.out


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("personality", PERSONALITIES, ids=lambda one: one.name)
async def test_a_client_completes_the_task(client: str, personality: Personality, tmp_path: Path) -> None:
    assert await completes(client, personality, tmp_path)


async def test_a_client_completes_the_task_with_hardly_any_when_nothing_is_corrected(tmp_path: Path) -> None:
    folders = {one: tmp_path / one.name for one in PERSONALITIES}
    for folder in folders.values():
        folder.mkdir()
    done = {one.name for one in PERSONALITIES if await completes("codex", one, folders[one], is_on=False)}

    print(f"{len(PERSONALITIES) - len(done)} of {len(PERSONALITIES)} fail; these do not: {', '.join(sorted(done))}")
    assert done <= ALWAYS_ON
