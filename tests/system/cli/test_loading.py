"""What a command loads, and how it ends while it does."""

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import antiphon
from antiphon.cli import serving
from antiphon.cli.main import app
from antiphon.cli.quick import FLAGS, serve_flags
from antiphon.cli.serve import serve
from tests.support.command import start

INTERRUPTED = """
import os, signal, sys

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

_, module, *arguments = sys.argv
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, CtrlC())
sys.argv = ["antiphon", *arguments]
from antiphon.cli import run
run()
"""
"""Runs the command, with `Ctrl-C` as soon as it wants to load a module."""


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("typer", "models"),
        ("rich.console", "models"),
        ("antiphon.cli.main", "models"),
        ("antiphon.cli.quick", "serve --port 0 --store sqlite://"),
        ("antiphon.cli.serve", "serve --port 0 --store sqlite://"),
        ("antiphon.build", "serve --port 0 --store sqlite://"),
        ("uvicorn", "serve --port 0 --store sqlite://"),
    ],
)
def test_it_ends_quietly_where_it_is_interrupted_while_it_loads(
    module: str, arguments: str
) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module, *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


LOADED = """
import sys
from antiphon.cli.main import COMMANDS, app
import typer.main
if sys.argv[1] in COMMANDS:
    typer.main.get_command(app).get_command(None, sys.argv[1])
print(*sys.modules)
"""


@pytest.mark.parametrize(
    ("command", "needless"),
    [
        (
            "none",
            {
                "aiohttp",
                "asyncio",
                "msgspec",
                "starlette",
                "antiphon.build",
                "antiphon.library",
                "sqlite3",
            },
        ),
        (
            "keys",
            {"aiohttp", "starlette", "uvicorn", "asyncpg", "antiphon.build", "antiphon.library"},
        ),
        ("status", {"aiohttp", "starlette", "uvicorn", "antiphon.build", "antiphon.library"}),
        ("serve", {"antiphon_verify", "antiphon.library", "asyncpg", "mcp", "opentelemetry"}),
    ],
)
def test_a_command_loads_what_it_needs(command: str, needless: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, command], capture_output=True, text=True, check=True
    )
    assert needless & set(done.stdout.split()) == set()


IDLE = """
import atexit, sys
atexit.register(lambda: print("modules:", *sys.modules))
from antiphon.cli import run
run()
"""
"""Runs the command; prints at its end what it has loaded."""

NEEDLESS_FOR_A_SERVER = {
    "aiohttp",
    "antiphon.protocol.validation.type_errors",
    "antiphon.documents",
    "antiphon.library",
    "antiphon.history.attachments",
    "antiphon.sharing.child",
    "antiphon.access.sessions",
    "antiphon.server.multipart",
    "antiphon.server.resources.containers",
    "antiphon.server.resources.files",
    "antiphon.storage.blobs",
    "antiphon.storage.sqlite.blobs",
    "antiphon.storage.operations.containers",
    "antiphon.objects.containers",
    "antiphon.objects.files",
    "antiphon.objects.uploads",
    "antiphon.objects.vector_stores",
    "antiphon.protocol.filenames",
    "obstore",
    "antiphon.server.admin",
    "antiphon.server.console.pages",
    "antiphon.upstream.demo",
    "antiphon.outbound.client",
    "antiphon.outbound.fetch",
    "antiphon.tools.mcp.session",
    "antiphon.tools.web",
    "antiphon.telemetry.otel",
    "antiphon_verify",
    "anyio",
    "asyncpg",
    "backports.zstd",
    "compression.zstd",
    "cryptography",
    "difflib",
    "html_to_markdown",
    "httpx2",
    "importlib.resources",
    "jinja2",
    "json_repair",
    "jsonschema_rs",
    "llguidance",
    "mcp",
    "openai",
    "opentelemetry",
    "pydantic",
    "python_multipart",
    "rich",
    "starlette",
    "tiktoken",
    "tomllib",
    "typer",
    "yarl",
    "zipfile",
}
"""What only some servers need, and those at their first use: of none of it has an idle one
anything.
"""


WEBSOCKET = {"antiphon.http_server.websocket_limits", "websockets"}
"""What a server loads at the start unless WebSocket mode is off: a library that fails is then found
at the start.
"""

BY_THE_LIBRARY = {"importlib.resources", "zipfile"}
"""What the library for WebSockets loads, to read its own version."""


@pytest.mark.parametrize(
    ("setting", "loaded_too", "allowed"),
    [("true", WEBSOCKET, BY_THE_LIBRARY), ("false", set(), set())],
)
async def test_an_idle_server_loads_nothing_that_it_does_not_use(
    tmp_path: Path, setting: str, loaded_too: set[str], allowed: set[str]
) -> None:
    flags = ["serve", "--port", "0", "--store", "sqlite://", "--backend", "http://127.0.0.1:9/v1"]
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", IDLE, *flags),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"ANTIPHON_WEBSOCKET": setting},
    )
    assert server.stdout
    ready = await server.stdout.readline()
    assert b"is ready: base URL" in ready
    server.terminate()
    rest, _ = await server.communicate()

    loaded = set(rest.decode().partition("modules: ")[2].split())
    assert "antiphon.server.application" in loaded
    assert loaded & (NEEDLESS_FOR_A_SERVER | WEBSOCKET) - allowed == loaded_too


def serve_flags_by_typer(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command `serve` is called with where Typer reads its flags."""
    called: list[Any] = []
    monkeypatch.setattr(serving, "serve_until_stopped", lambda *flags: called.extend(flags) or 0)
    app(arguments, standalone_mode=False)
    return dict(zip(inspect.signature(serve).parameters, called, strict=True))


@pytest.mark.parametrize(
    "line",
    [
        "serve",
        "serve --port 9000",
        "serve --host=0.0.0.0 --port=9000 --workers 2",
        "serve --backend http://a/v1 --backend=http://b/v1?x=y --store sqlite:///x.db",
        "serve --config a.toml --config b.toml --port 1 --port 2",
    ],
)
def test_flags_mean_the_same_however_they_are_read(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = serve_flags(line.split())
    assert flags is not None
    by_typer = serve_flags_by_typer(line.split(), monkeypatch)
    assert flags == {name: value for name, value in by_typer.items() if value is not None}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "models",
        "--version",
        "serve --help",
        "serve extra",
        "serve --port",
        "serve --port=",
        "serve --port x",
        "serve --port -1",
        "serve --port 1_0",
        "serve -port 1",
        "serve --prt 1",
        "serve --port --host x",
    ],
)
def test_typer_reads_whatever_needs_words(line: str) -> None:
    assert serve_flags(line.split()) is None


def test_every_flag_of_serve_is_known() -> None:
    assert (
        list(FLAGS)
        == list(inspect.signature(serving.serve).parameters)
        == list(inspect.signature(serve).parameters)
    )


def test_a_server_loads_nothing_of_what_judges_servers() -> None:
    code = (
        "import sys, antiphon.cli.main, antiphon.cli.serve; "
        "sys.exit('antiphon_verify' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_reads_html_is_loaded_by_no_server() -> None:
    program = (
        "import sys, antiphon.cli.serve, antiphon.build; print('html_to_markdown' in sys.modules)"
    )
    reported = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert reported.stdout == "False\n"


def test_the_sdk_is_not_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, antiphon.tools.mcp.servers as servers; servers.McpServers();"
        "print({'mcp', 'pydantic', 'httpx2'} & {*sys.modules})"
    )
    displayed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert displayed.stdout == "set()\n"


def test_without_a_collector_its_code_is_not_loaded() -> None:
    code = (
        "import sys, antiphon.cli.serve; sys.exit(any(m.startswith('opentelemetry') "
        "for m in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def loaded_by(code: str) -> set[str]:
    """The modules that a program has loaded at its end."""
    displayed = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(displayed.stdout.split())


def test_the_package_alone_loads_nothing_else() -> None:
    loaded = loaded_by("import antiphon")
    assert {name for name in loaded if name.startswith("antiphon.")} == set()
    assert {"asyncio", "msgspec", "sqlite3", "ssl"} & loaded == set()


def test_the_clients_load_no_http_library_and_no_tool() -> None:
    loaded = loaded_by("from antiphon import Antiphon, AsyncAntiphon, asgi, http_client")
    assert {
        "httpx",
        "httpx2",
        "openai",
        "uvicorn",
        "starlette",
        "mcp",
        "asyncpg",
        "pydantic",
    } & loaded == set()


@pytest.mark.parametrize("name", antiphon.__all__)
def test_a_name_of_the_package_is_loaded_on_first_use(name: str) -> None:
    assert getattr(antiphon, name) is not None


def test_a_name_that_the_package_does_not_have_is_missing() -> None:
    assert not hasattr(antiphon, "Nothing")


async def test_a_server_runs_without_uvloop_and_reports_the_faster_option(tmp_path: Path) -> None:
    flags = ("--port", "0", "--store", "sqlite://", "--backend", "http://127.0.0.1:9/v1")
    code = "import sys; sys.modules['uvloop'] = None"
    process = await start(tmp_path, "serve", *flags, prelude=code)
    assert process.stdout
    ready = await process.stdout.readline()
    process.terminate()
    _, log = await process.communicate()
    assert b"is ready: base URL" in ready
    assert b"pip install 'antiphon[speed]'" in log
