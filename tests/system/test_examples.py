"""Each example does what it shows, against the scripted model `demo`."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.metadata import packages_distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from openai import AsyncOpenAI

from antiphon.cli.demo_backend import demo_app
from antiphon.config import Settings
from antiphon.http_server.host import UvicornHost
from antiphon.server.limits import ServerLimits
from antiphon.sharing.memory import Memory
from antiphon.tools.images.content import inspect
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.code_environment import SANDBOX, needs_pandas, needs_sandbox
from tests.support.command import antiphon, serving
from tests.support.parts import called, stated
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.small_web import small_web

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
USUAL_SERVER = "http://127.0.0.1:8321/v1"
USUAL_BACKEND = "http://127.0.0.1:11434/v1"
USUAL_MCP_SERVER = "http://127.0.0.1:8100/mcp"
THIS_MACHINE = ["127.0.0.1"]

HELLO = "I am demo, Antiphon's scripted model. I received 1 message. You said: "

STORY = f"{HELLO}Write a story.\n"

IN_TABS = {
    "first_request": (f"{HELLO}Hello!\n",),
    "stream": (f"{HELLO}Hello!\n",),
    "continue_conversation": ("Your name is Ada.\n",),
    "function_tool": (
        'The model calls tide_at with {"place": "Dover"}\nThe tool returned: High water in Dover '
        "is at 14:05.\n",
    ),
    "structured_output": ("place='Dover' time='14:05'\n",),
    "background_job": ("queued\n", f"completed\n{STORY}"),
    "ask_files": ('tides.md says: "High water in Brest is at nine."\nSource: tides.md\n',),
}
"""Examples that the pages show in tabs; `test_example_tabs.py` runs the same in curl and
TypeScript.
"""

ALONE = {
    "embed": (
        f"{HELLO}My name is Ada.\n",
        "(The)( user)",
        "Your name is Ada.\ncompleted ",
        " tokens\n3 input items\n",
    ),
    "sdk_in_process": ("Your name is Ada.\n",),
    "embed_async": (
        "400 temperature\n",
        f"{STORY}completed, 1 item\n",
    ),
    "embed_agent": ("REFUND ORDER 17\n",),
    "embed_files": (
        "dover.txt High tide in Dover is at 14:05.\n404 No such File object: file-none\n",
    ),
    "agents_sdk_in_process": ("The tool returned: In Dover at 14:05.\n",),
    "chat_stream": ('"delta":"A greeting."', '"text":"Good day"', "event: response.completed\n"),
    "request_translation": (
        'openai {"model": "m", "messages": [{"role": "developer"',
        'deepseek {"model": "m", "messages": [{"role": "system"',
        "400 unknown_parameter temprature Unknown parameter: 'temprature'. Did you mean "
        "'temperature'?\n",
    ),
}
WITH_A_SERVER = {
    "sdk": (f"{HELLO}My name is Ada.\nYour name is Ada.\n",),
    "chain": (
        "The model calls tide_at with {'place': 'Dover'}\n",
        "The tool returned: At 14:05.\n",
        "The input of the answer: message, function_call, function_call_output\n",
    ),
    "translator": ("0 response.created\n", " response.completed\n", f"completed {HELLO}Hello!\n"),
    "check_stream": (" events, valid\n",),
    "background": ("queued\n", f"{HELLO}Write a story.", "\ncompleted; retrieved: completed\n"),
    "websocket_mode": (f"{HELLO}My name is Ada. (", "\nYour name is Ada. ("),
    "webhook": (f"response.completed {HELLO}Hello!\n",),
    "tools": (
        "custom note_place Dover\n",
        'function tides high_at {"place": "Dover"}\n',
        "shell ['date']\n",
        "Not offered to the model: image_generation\n",
    ),
    "send_file": (
        'the file "meals.csv"',
        "tea,16",
        "I received 3 messages. You said: And breakfast?\n",
    ),
    "compact": (
        "Compacted: ",
        " tokens in ['message', 'message', 'compaction']\n",
        "Automatically: ['compaction', 'message']\n",
        "On a trigger: ['compaction']\nNext request: ",
    ),
    "agents_sdk": ("The tool returned: In Dover at 14:05.\n",),
    **IN_TABS,
}
WITH_AN_MCP_SERVER = {
    "mcp_calls": (
        'sums has add\nadd {"a": 1, "b": 1} gave 2\n',
        "The tool returned: 2\n",
        "The list is not sent again: mcp_call, message\n",
    ),
    "approvals": (
        "add gave 2\nMay count be called with {}? Yes.\ncount gave 1\n",
        "The tool returned: 1\n",
    ),
}


SEARCHING_FILES = ["file_search", "agents_file_search"]

RUNNING_CODE = ["analyse_csv", "agents_code_interpreter"]

PLACED_OTHERWISE = [
    *("web_search", "mount", "sums_server", "langchain_in_process", "test_with_script"),
    *SEARCHING_FILES,
    *RUNNING_CODE,
    "generate_image",
    "copy_conversation",
]
"""Examples with a test of their own."""


def source_of(name: str) -> str:
    return (EXAMPLES / f"{name}.py").read_text()


def placed(folder: Path, replaced: Mapping[str, str]) -> Path:
    """Copy all examples into a folder, with other addresses."""
    for name in NAMES:
        source = source_of(name)
        for usual, other in replaced.items():
            source = source.replace(usual, other)
        (folder / f"{name}.py").write_text(source)
    return folder


@asynccontextmanager
async def running(
    name: str, replaced: Mapping[str, str], *arguments: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run an example as a user does: from a folder with all the others, which Python then searches
    first.
    """
    stored = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTIPHON_", "OPENAI_"))
    }
    quiet = {**stored, "OPENAI_API_KEY": "none"}
    with TemporaryDirectory() as folder:
        program = placed(Path(folder), replaced) / f"{name}.py"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", str(program), *arguments, env=quiet, stdout=-1, stderr=-1
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def output_of(name: str, *arguments: str, **replaced: str) -> tuple[str, str]:
    """Run an example to its end, with other addresses; return what it printed and what it
    complained of.
    """
    usual = {"server": USUAL_SERVER, "mcp_server": USUAL_MCP_SERVER}
    places = {usual[which]: address for which, address in replaced.items()}
    async with running(name, places, *arguments) as process:
        printed, complained = await process.communicate()
        assert process.returncode == 0, complained.decode()
    return printed.decode(), complained.decode()


@asynccontextmanager
async def sums_server() -> AsyncIterator[str]:
    """Run the example's MCP server on a port of its own; gives its URL."""
    async with running("sums_server", {"port=8100": "port=0"}) as process:
        assert process.stderr is not None
        stated = b""
        while not (listens := re.search(rb"running on (http://127\.0\.0\.1:\d+)", stated)):
            line = await process.stderr.readline()
            assert line, stated.decode()
            stated += line
        yield f"{listens[1].decode()}/mcp"


@pytest.mark.parametrize("name", ALONE)
async def test_an_example_of_the_library_runs_alone(name: str) -> None:
    printed, complained = await output_of(name)
    assert [words for words in ALONE[name] if words not in printed] == []
    assert complained == ""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[RunningServer]:
    """A server for all examples, which may call MCP servers of this machine."""
    async with serve(
        DemoBackend(), settings=Settings(outgoing_networks=THIS_MACHINE), has_tools=True
    ) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sums() -> AsyncIterator[str]:
    """The example's MCP server."""
    async with sums_server() as url:
        yield url


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", WITH_A_SERVER)
async def test_an_example_of_a_client_runs_against_the_server(
    name: str, server: RunningServer
) -> None:
    printed, _ = await output_of(name, server=server.url)
    assert [words for words in WITH_A_SERVER[name] if words not in printed] == []


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", WITH_AN_MCP_SERVER)
async def test_an_example_of_mcp_runs_against_both_servers(
    name: str, server: RunningServer, sums: str
) -> None:
    printed, _ = await output_of(name, server=server.url, mcp_server=sums)
    assert [words for words in WITH_AN_MCP_SERVER[name] if words not in printed] == []


async def test_the_example_of_tools_runs_whatever_the_server_runs_itself() -> None:
    settings = Settings(web_search="http://127.0.0.1:8888")
    async with serve(DemoBackend(), settings=settings, has_tools=True) as server:
        printed, _ = await output_of("tools", server=server.url)
    assert [words for words in WITH_A_SERVER["tools"] if words not in printed] == []


async def test_the_search_example_reports_what_was_found_opened_and_cited() -> None:
    async with small_web() as web:
        page = f"{web.site}/harbour"
        model = ScriptedBackend(
            [
                called("web_search", '{"query": "harbour Brest"}'),
                called("open_page", f'{{"url": "{page}"}}', "call_2"),
                stated("High water is at nine [1]."),
            ],
            models=["demo"],
        )
        settings = Settings(web_search=web.searxng, outgoing_networks=THIS_MACHINE)
        async with serve(model, settings=settings, has_tools=True) as server:
            printed, _ = await output_of("web_search", server=server.url)
    assert printed.splitlines() == [
        "It searched for harbour Brest and found 1",
        f"It opened {page}",
        "High water is at nine [1].",
        f"Cited: The harbour of Brest {page}",
    ]


async def test_the_file_search_examples_upload_query_and_cite(tmp_path: Path) -> None:
    (tmp_path / "tides.md").write_text("High water in Brest is at nine.")
    (tmp_path / "ports.md").write_text("Roscoff has ferries to Ireland.")
    question = "When is high water in Brest?"
    async with serve(DemoBackend(), has_tools=True) as server:
        printed, _ = await output_of("file_search", str(tmp_path), question, server=server.url)
        (store,) = re.findall(r"^Vector store (vs_\w+) .*'completed': 2,", printed, re.MULTILINE)
        by_the_agent, _ = await output_of("agents_file_search", store, question, server=server.url)

    answer = 'tides.md says: "High water in Brest is at nine."\n'
    assert printed.endswith(f"\n{answer}Cited: tides.md\n")
    assert by_the_agent == answer


DRAWING = """Draw the prices.
```python
import glob
import matplotlib.pyplot as plt
import pandas as pd

table = pd.read_csv(glob.glob("/mnt/data/*meals.csv")[0])
table.plot.bar(x="meal", y="price")
plt.savefig("/mnt/data/prices.png")
plt.close()
print(table.price.sum())
```
"""


@needs_sandbox
@needs_pandas
async def test_the_examples_of_running_code_analyse_a_table_and_save_the_figure(
    tmp_path: Path,
) -> None:
    (tmp_path / "antiphon.toml").write_text(SANDBOX)
    (tmp_path / "meals.csv").write_text("meal,price\nbreakfast,8\ntea,4\n")
    async with TestServer(demo_app(DemoBackend())) as model:
        flags = ("--port", "0", "--backend", str(model.make_url("/v1")), "--store", "sqlite://")
        async with serving(tmp_path, *flags) as server:
            printed, _ = await output_of(
                "analyse_csv", str(tmp_path / "meals.csv"), DRAWING, server=server.url
            )
            by_the_agent, _ = await output_of(
                "agents_code_interpreter", "Run: print(6 * 7)", server=server.url
            )
            await server.stop(signal.SIGTERM)

    assert printed == (
        "The code printed: 12\n\nIt made "
        "[prices.png](sandbox:/mnt/data/prices.png).\nSaved prices.png\n"
    )
    assert (tmp_path / "prices.png").read_bytes().startswith(b"\x89PNG")
    assert by_the_agent == "The code printed: 42\n"


async def test_the_example_of_images_draws_one_and_changes_it(tmp_path: Path) -> None:
    async with serve(
        DemoBackend(), settings=Settings(images_model="demo"), has_tools=True
    ) as server:
        printed, _ = await output_of("generate_image", str(tmp_path), server=server.url)

    lines = printed.splitlines()
    assert [lines[0:2], lines[4:6]] == [["Partial image 0", "Partial image 1"]] * 2
    assert [lines[n].rpartition(" ")[0] for n in (2, 6)] == [
        "circle.png completed",
        "blue-circle.png completed",
    ]
    images = [inspect((tmp_path / name).read_bytes()) for name in ("circle.png", "blue-circle.png")]
    assert [image.size for image in images] == ["512x512"] * 2
    assert images[0].data != images[1].data


async def test_the_example_of_copying_takes_a_conversation_to_another_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve(DemoBackend()) as old, serve(DemoBackend()) as new:
        talk = await old.sdk.conversations.create(
            items=[{"role": "user", "content": f"Line {n}."} for n in range(20)]
        )
        await old.sdk.responses.create(
            model="demo", conversation=talk.id, input="My name is Ada.", reasoning={"effort": "low"}
        )
        monkeypatch.setenv("SOURCE_BASE_URL", old.url)
        printed, _ = await output_of("copy_conversation", talk.id, server=new.url)
        found = re.fullmatch(r"(conv_\w+) 22 items copied, 1 skipped\n", printed)
        assert found is not None, printed
        answer = await new.sdk.responses.create(
            model="demo", conversation=found[1], input="What is my name?"
        )
    assert answer.output_text == "Your name is Ada."


class Nothing:
    """Behind an application that looks after itself."""

    async def drain(self) -> None: ...

    def abort(self) -> None: ...


async def test_the_mounted_application_serves_both_its_own_page_and_the_api(
    backend: ReplayBackend,
) -> None:
    example: dict[str, Any] = {"__name__": "mount"}
    exec(source_of("mount").replace(USUAL_BACKEND, backend.url), example)
    app = example["app"]
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    host = UvicornHost(app, Nothing(), grace=0, limits=ServerLimits(), memory=Memory().size)
    async with app.router.lifespan_context(app):
        serving = asyncio.create_task(host.serve([listener]))
        await host.listening.wait()
        async with AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/ai/v1", api_key="none") as client:
            first = await client.responses.create(model="m", input="Hi")
            second = await client.responses.create(
                model="m", input="Again", previous_response_id=first.id
            )
            page = await client.get(f"http://127.0.0.1:{port}/", cast_to=str)
        host.should_exit = host.force_exit = True
        with suppress(asyncio.CancelledError):
            await serving
    assert (first.output_text, second.output_text) == ("You said: Hi", "You said: Again")
    assert page == "The application's own page."


def test_the_example_of_a_test_passes_in_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(source_of("test_with_script"))
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:asyncio",
        "-W",
        "error",
        "test_it.py",
    )
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_the_test_of_the_fastapi_example_passes(tmp_path: Path) -> None:
    for file in (EXAMPLES / "embed_fastapi").glob("*.py"):
        shutil.copy(file, tmp_path)
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:asyncio",
        "-W",
        "error",
        "test_app.py",
    )
    environment = os.environ | {"HOME": str(tmp_path)}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr


def test_the_support_agent_searches_files_and_requests_approval_before_a_refund(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    shutil.copytree(EXAMPLES / "support", home)
    stated = (
        "How many days do I have to return an order?",
        'call refund {"order_id": "1042"}',
        "n",
        "call refund",
        "y",
    )
    printed = asyncio.run(_support(home, "\n".join(stated) + "\n"))
    assert 'Agent: returns.md says: "# Returns You can return an order within 30 days' in printed
    assert "Agent: The tool returned: This call was not made: the user refused it.\n" in printed


async def _support(home: Path, text: str) -> str:
    variables = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    async with serving(home, "--port", "0", **variables) as server:
        agent = home / "agent.py"
        agent.write_text(agent.read_text().replace(USUAL_SERVER, server.url))
        added = await antiphon(home, "stores", "add", "knowledge", "--into", "handbook")
        assert added.code == 0, added.err
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(agent), stdin=-1, stdout=-1, stderr=-1
        )
        printed, complained = await process.communicate(text.encode())
        assert process.returncode == 0, complained.decode()
        await server.stop(signal.SIGTERM)
    return printed.decode()


async def test_the_example_of_langchain_runs_where_it_is_installed() -> None:
    pytest.importorskip(
        "langchain_openai", reason="LangChain brings a dozen packages, so no extra installs it"
    )
    printed, _ = await output_of("langchain_in_process")
    assert printed == f"{HELLO}My name is Ada.\n{HELLO}Hello!\ntide_at In Dover at 14:05.\n"


def test_no_example_stands_in_the_way_of_a_package() -> None:
    assert set(NAMES) & {*packages_distributions(), *sys.stdlib_module_names} == set()


def test_every_example_is_run_and_is_short() -> None:
    lines = {path.stem: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*.py")}
    assert sorted(lines) == sorted([*ALONE, *WITH_A_SERVER, *WITH_AN_MCP_SERVER, *PLACED_OTHERWISE])
    assert {name: count for name, count in lines.items() if count >= 40} == {}


def test_examples_name_the_servers_that_the_tests_replace() -> None:
    with_a_server = [*WITH_A_SERVER, *WITH_AN_MCP_SERVER, *SEARCHING_FILES, *RUNNING_CODE]
    with_a_server += ["web_search", "generate_image"]
    assert [name for name in with_a_server if USUAL_SERVER not in source_of(name)] == []
    assert [name for name in WITH_AN_MCP_SERVER if USUAL_MCP_SERVER not in source_of(name)] == []
    assert USUAL_BACKEND in source_of("mount")
    assert "port=8100" in source_of("sums_server")
