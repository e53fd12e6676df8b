"""Codex and opencode complete a task with every personality: they read a repository, edit a file,
and run its test.

With the corrections off, they fail: each personality shows a weakness that Antiphon really makes up
for.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from antiphon_verify.reading import fits
from tests.support.command import Done, antiphon
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
from tests.system.clients.personalities.weaknesses import (
    EYES,
    MODEL,
    PERSONALITIES,
    SCHEMA,
    Actor,
    Personality,
    eyes,
)
from tests.system.clients.test_launch import CASES, RUNNING

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Client:
    command: tuple[str, ...]
    calls: Callable[[Path], Mapping[Step, Call]]
    window: int
    """Tokens of a small window: opencode's own prompt has 7,500, Codex's 3,500."""
    schema_flag: str = ""
    """Precedes the file with the schema of an answer; empty if a run has no such file."""


CLIENTS: Mapping[str, Client] = {
    "codex": Client(
        ("exec", "--skip-git-repo-check", "-s", "danger-full-access"),
        codex_calls,
        8_192,
        "--output-schema",
    ),
    "opencode": Client(("run",), opencode_calls, 12_288),
}

SYSTEM = {("opencode", "no tools"), *(("codex", one.name) for one in PERSONALITIES)}
"""The pairs of `make test-system`: opencode costs six times as much as Codex, so that it has one
there.

With "no tools" it needs the whole translation of calls into text and back.
"""

PAIRS = [
    pytest.param(
        client,
        one,
        id=f"{client}-{one.name}",
        marks=() if (client, one.name) in SYSTEM else pytest.mark.nightly,
    )
    for client in CLIENTS
    for one in PERSONALITIES
    if CLIENTS[client].schema_flag or not one.has_schema
]

ALWAYS_ON = "no tools"
"""The weakness that Antiphon makes up for whatever the settings are: tools that a server rejects go
into the prompt.
"""

OFF = "loop_calls = 0\nloop_text = 0\n"
OFF_BACKEND = 'dialect = "together"\ncheck_answers = false\n'
"""A service, which is trusted with the calls of its models, and whose answers are not checked."""


@dataclass(frozen=True)
class Work:
    """A folder with the task, and how a client has worked on it."""

    folder: Path
    done: Done

    def is_complete(self, personality: Personality) -> bool:
        """Whether the test passes, and the answer says so in the form that the user wants."""
        is_stated = (
            _keeps_to_the_schema(self.done.out) if personality.has_schema else DONE in self.done.out
        )
        return is_stated and passes(self.folder)


def _keeps_to_the_schema(printed: str) -> bool:
    try:
        answer = json.loads(printed.strip().splitlines()[-1])
    except (json.JSONDecodeError, IndexError):
        return False
    return fits(answer, SCHEMA) and answer["result"] == DONE


async def work(name: str, personality: Personality, folder: Path, *, is_on: bool) -> Work:
    """Let a client work on the task with a personality; with the corrections off, where the
    settings can do so.
    """
    client = CLIENTS[name]
    home = folder / "home"
    repository = folder / "work"
    for path in (home, repository):
        path.mkdir()
    write_repository(repository)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    command = CASES[name].install()
    wanted = (client.schema_flag, str(folder / "schema.json")) if personality.has_schema else ()
    async with (
        Actor(personality, client.calls(repository), client.window).serve() as actor,
        eyes().serve() as seeing,
    ):
        configured = (
            configuration(personality, actor.url, seeing.url, client.window)
            if is_on
            else without(actor.url)
        )
        (folder / "antiphon.toml").write_text(configured)
        variables = {
            "HOME": str(home),
            "PATH": f"{command.parent}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "HTTPS_PROXY": codex.NOWHERE,
            "TMPDIR": str(folder),
        }
        flags = ("--config", str(folder / "antiphon.toml"), "--port", "0", "--model", MODEL)
        arguments = (*flags, "--", *client.command, *wanted, PROMPT)
        done = await antiphon(repository, "launch", name, *arguments, patience=RUNNING, **variables)
    print(done.out[-2000:], done.err[-2000:])
    return Work(repository, done)


def configuration(personality: Personality, url: str, seeing: str, window: int) -> str:
    """Return the settings of a user who has read the guides about this weakness."""
    tables = [f'[[backends]]\nname = "tide"\nurl = "{url}"\n{personality.backend}']
    if personality.model:
        tables.append(f'[[models]]\nname = "{MODEL}"\n{personality.model.format(window=window)}')
    if personality.has_eyes:
        tables = [
            f'vision = "eyes/{EYES}"\n',
            *tables,
            f'[[backends]]\nname = "eyes"\nurl = "{seeing}"\n',
        ]
    return "\n".join(tables)


def without(url: str) -> str:
    """Return settings that switch the corrections off."""
    return f'{OFF}\n[[backends]]\nname = "tide"\nurl = "{url}"\n{OFF_BACKEND}'


@pytest.mark.rotating
@pytest.mark.parametrize(("client", "personality"), PAIRS)
async def test_a_client_completes_the_task(
    client: str, personality: Personality, tmp_path: Path
) -> None:
    assert (await work(client, personality, tmp_path, is_on=True)).is_complete(personality)


@pytest.mark.parametrize(
    ("client", "personality"), [pair for pair in PAIRS if ALWAYS_ON not in str(pair.id)]
)
async def test_without_the_corrections_the_client_fails(
    client: str, personality: Personality, tmp_path: Path
) -> None:
    one = await work(client, personality, tmp_path, is_on=False)
    assert not one.is_complete(personality)
    assert personality.error in one.done.out + one.done.err
