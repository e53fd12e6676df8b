"""The examples that the pages show in tabs exist in Python, curl and TypeScript, and do the same in
each language.

`test_examples.py` runs the Python.
"""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from antiphon.upstream.demo.backend import DemoBackend
from tests.support import npm
from tests.support.server import RunningServer, serve
from tests.system.test_examples import EXAMPLES, HELLO, IN_TABS, STORY, USUAL_SERVER

pytestmark = pytest.mark.asyncio(loop_scope="module")

PINNED = EXAMPLES / "typescript"
"""The programs, the versions of their packages, and the lock of npm."""

PACKAGES = npm.CACHE / "examples"
"""Where npm installs the packages."""

RUNNING = 60.0
"""Seconds that a program may take; it takes one or two."""

PRINTED_BY_CURL = {
    "continue_conversation": ("Your name is Ada.\n",),
    "function_tool": (
        '"name": "tide_at"',
        r'"arguments": "{\"place\": \"Dover\"}"',
        "The tool returned: High water in Dover is at 14:05.\n",
    ),
    "structured_output": ('{"place": "Dover", "time": "14:05"}\n',),
    "background_job": ("queued\n", f"completed\n{STORY}"),
    "ask_files": IN_TABS["ask_files"],
}
"""What the scripts print that read the answer with jq; the other two print JSON."""

PRINTED_BY_TYPESCRIPT = {**IN_TABS, "structured_output": ("{ place: 'Dover', time: '14:05' }\n",)}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[RunningServer]:
    async with serve(DemoBackend(), has_tools=True) as server:
        yield server


async def printed_by(folder: Path, *command: str) -> str:
    """Run a command to its end; return what it printed."""
    quiet = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTIPHON_", "OPENAI_"))
    }
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env={**quiet, "TMPDIR": str(folder)}, stdin=-3, stdout=-1, stderr=-1
    )
    try:
        printed, complained = await asyncio.wait_for(process.communicate(), RUNNING)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, (printed + complained).decode()
    return printed.decode()


async def printed_by_curl(name: str, server: RunningServer, folder: Path) -> str:
    script = folder / f"{name}.sh"
    source = (EXAMPLES / "curl" / f"{name}.sh").read_text()
    assert USUAL_SERVER in source
    script.write_text(source.replace(USUAL_SERVER, server.url))
    missing = [
        program
        for program in ("bash", "curl", "jq")
        if program in f"bash {source}" and not shutil.which(program)
    ]
    if missing:
        pytest.skip(f"the script needs {' and '.join(missing)}")
    return await printed_by(folder, "bash", "-eu", str(script))


async def test_the_first_request_of_curl_prints_the_response(
    server: RunningServer, tmp_path: Path
) -> None:
    response = json.loads(await printed_by_curl("first_request", server, tmp_path))
    assert (response["object"], response["status"]) == ("response", "completed")
    assert response["output"][0]["content"][0]["text"] == f"{HELLO}Hello!"


async def test_the_stream_of_curl_prints_the_events(server: RunningServer, tmp_path: Path) -> None:
    printed = await printed_by_curl("stream", server, tmp_path)
    events = [
        json.loads(line.removeprefix("data: "))
        for line in printed.splitlines()
        if line.startswith("data: ")
    ]
    assert [events[0]["type"], events[-1]["type"]] == ["response.created", "response.completed"]
    assert "".join(event.get("delta", "") for event in events) == f"{HELLO}Hello!"


@pytest.mark.parametrize("name", PRINTED_BY_CURL)
async def test_a_script_of_curl_prints_the_answer(
    name: str, server: RunningServer, tmp_path: Path
) -> None:
    printed = await printed_by_curl(name, server, tmp_path)
    assert [words for words in PRINTED_BY_CURL[name] if words not in printed] == []


@pytest.fixture
def typescript(tmp_path: Path) -> Path:
    """A folder for programs in TypeScript, with the packages that they import; skips the test like
    npm's.
    """
    if shutil.which("node") is None:
        pytest.skip("TypeScript runs in Node.js, and Node.js is missing")
    npm.install_packages(PINNED, "the openai package for TypeScript", folder=PACKAGES)
    (tmp_path / "node_modules").symlink_to(PACKAGES / "node_modules")
    for file in ("package.json", "tsconfig.json"):
        shutil.copy(PINNED / file, tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PRINTED_BY_TYPESCRIPT)
@pytest.mark.timeout(400)
async def test_a_program_in_typescript_prints_the_answer(
    name: str, server: RunningServer, typescript: Path
) -> None:
    source = (PINNED / f"{name}.ts").read_text()
    assert USUAL_SERVER in source
    (typescript / f"{name}.ts").write_text(source.replace(USUAL_SERVER, server.url))
    printed = await printed_by(typescript, "node", "--import", "tsx", f"{name}.ts")
    assert [words for words in PRINTED_BY_TYPESCRIPT[name] if words not in printed] == []


@pytest.mark.timeout(400)
async def test_the_types_of_the_typescript_are_right(typescript: Path) -> None:
    for program in PINNED.glob("*.ts"):
        shutil.copy(program, typescript)
    assert (
        await printed_by(
            typescript, str(PACKAGES / "node_modules/.bin/tsc"), "--project", str(typescript)
        )
        == ""
    )


async def test_every_example_in_tabs_is_in_every_language() -> None:
    for language, suffix in (("curl", "sh"), ("typescript", "ts")):
        assert {path.stem for path in (EXAMPLES / language).glob(f"*.{suffix}")} == set(IN_TABS)
    assert {*PRINTED_BY_CURL, "first_request", "stream"} == set(IN_TABS)
