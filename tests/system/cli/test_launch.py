"""`antiphon launch`, with a program in the place of the client that says how it was started."""

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.cli.launching.clients import CLIENTS
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.probing.measurement import verdict
from tests.support.command import PATIENCE, Done, antiphon, pids_below, serving, start
from tests.support.replay import ReplayBackend
from tests.support.server import serve

CLIENT = f"""#!{sys.executable}
import json, os, signal, sys

if sys.argv[-1] == "wait":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(7))
    signal.signal(signal.SIGHUP, lambda number, frame: sys.exit(8))
    print("waiting", signal.getsignal(signal.SIGINT) is signal.SIG_IGN, flush=True)
    while True:
        signal.pause()
if sys.argv[-1] == "ask":
    from urllib.request import ProxyHandler, Request, build_opener

    body = json.dumps({{"model": "m", "input": "Hi", "tools": [{{"type": "web_search"}}]}}).encode()
    (provider,) = (part for part in sys.argv if part.startswith("model_providers.antiphon="))
    url = provider.partition('base_url = "')[2].partition('"')[0] + "/responses"
    request = Request(url, body, {{"content-type": "application/json"}})
    sys.exit(build_opener(ProxyHandler({{}})).open(request).status != 200)
if sys.argv[-1] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
catalog = next(part.partition("=")[2] for part in sys.argv if part.startswith("model_catalog_json="))
models = json.load(open(json.loads(catalog)))["models"]
print(json.dumps({{"arguments": sys.argv[1:], "variables": dict(os.environ), "models": models}}))
sys.exit(3)
"""  # noqa: E501 - the lines of a text

NO_CALLER = "port = 9\n"
"""Settings of a server that does not run."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder in which the settings name a server that does not run, and `codex` is on the
    PATH.
    """
    (tmp_path / "antiphon.toml").write_text(NO_CALLER)
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(CLIENT)
    program.chmod(0o755)
    return tmp_path


def paths(home: Path) -> dict[str, Any]:
    """The client is found first; what is temporary is in a folder of the test's own."""
    (home / "tmp").mkdir(exist_ok=True)
    return {"PATH": f"{home}/bin:{os.environ['PATH']}", "TMPDIR": f"{home}/tmp"}


async def launch(home: Path, *arguments: str, **variables: Any) -> Done:
    return await antiphon(home, "launch", *arguments, **paths(home), **variables)


def started(done: Done) -> dict[str, Any]:
    """How the client was started."""
    assert done.code == 3, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def url_of(arguments: list[str]) -> str:
    """The base URL of the provider."""
    (provider,) = (part for part in arguments if part.startswith("model_providers.antiphon="))
    found = re.search('base_url = "(.*?)"', provider)
    assert found
    return found[1]


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def is_removed(url: str) -> bool:
    host, _, port = url.split("/")[2].partition(":")
    try:
        await asyncio.open_connection(host, int(port))
    except ConnectionRefusedError:
        return True
    return False


async def test_a_server_is_started_for_the_client_and_ends_with_it(
    home: Path, backend: ReplayBackend
) -> None:
    backend.models[0]["max_model_len"] = 4096
    done = await launch(home, "codex", "--backend", backend.url, "--", "exec", "--model", "mine")
    client = started(done)

    assert client["arguments"][-3:] == ["exec", "--model", "mine"]
    assert [(one["slug"], one["context_window"]) for one in client["models"]] == [("m", 4096)]
    url = url_of(client["arguments"])
    assert await is_removed(url)
    line = (
        f"antiphon: codex uses m (context window: 4,096 tokens) at {url}, a server that was "
        "started for it; its log"
    )
    assert done.err == f"{line} is {home}/.local/state/antiphon/launch-codex.log\n"
    assert [*(home / "tmp").iterdir(), *(home / ".local/state/antiphon").iterdir()] == []


async def test_the_log_of_a_server_remains_until_the_next_launch(
    home: Path, backend: ReplayBackend
) -> None:
    """A request of Codex offers a tool that the server does not run, which is a line of the log."""
    flags = ("codex", "--backend", backend.url)
    log = home / ".local/state/antiphon/launch-codex.log"
    assert (await launch(home, *flags, "ask")).code == 0
    written = log.read_text()
    mode = log.stat().st_mode & 0o777
    temporary = [*(home / "tmp").iterdir()]
    started(await launch(home, *flags))

    assert "does not run them: web_search" in written
    assert (mode, temporary) == (0o600, [])
    assert not log.exists()


async def test_a_log_folder_that_cannot_be_created_is_an_error(
    home: Path, backend: ReplayBackend
) -> None:
    (home / ".local").write_text("")
    done = await launch(home, "codex", "--backend", backend.url)

    text = (
        f"The server's log {home}/.local/state/antiphon/launch-codex.log cannot be written: "
        "not a directory."
    )
    assert (done.code, done.out, done.err) == (1, "", f"antiphon: {text}\n")


async def test_the_server_that_runs_is_used(home: Path, backend: ReplayBackend) -> None:
    async with serving(
        home, "--port", "0", "--backend", backend.url, "--store", "sqlite://"
    ) as server:
        (home / "antiphon.toml").write_text(
            f"port = {server.url.split(':')[2].removesuffix('/v1')}\n"
        )
        by_settings = await launch(home, "codex")
        named = await launch(home, "codex", "--base-url", f"{server.url}/")

    assert (
        url_of(started(by_settings)["arguments"])
        == url_of(started(named)["arguments"])
        == server.url
    )
    size = "unknown; `antiphon models probe m --measure-window` measures it"
    assert by_settings.err == f"antiphon: codex uses m (context window: {size}) at {server.url}\n"


async def test_a_client_gets_the_model_that_is_named(home: Path, backend: ReplayBackend) -> None:
    backend.models = [{"id": name, "object": "model"} for name in ("small", "large")]
    chosen = await launch(home, "codex", "--backend", backend.url, "--model", "large")
    not_chosen = await launch(home, "codex", "--backend", backend.url)

    assert 'model="large"' in started(chosen)["arguments"]
    message = "antiphon: The server has several models. Choose one with --model: small, large.\n"
    assert (not_chosen.code, not_chosen.err) == (2, message)


async def test_a_server_with_api_keys_gets_the_key_of_a_variable(
    home: Path, backend: ReplayBackend
) -> None:
    store = f"sqlite:///{home}/a.db"
    key = (await antiphon(home, "keys", "create", "--store", store)).out.strip()
    async with serving(home, "--port", "0", "--backend", backend.url, "--store", store) as server:
        without = await launch(home, "codex", "--base-url", server.url)
        wrong = await launch(
            home, "codex", "--base-url", server.url, "--key-env", "KEY", KEY="sk-wrong"
        )
        right = await launch(home, "codex", "--base-url", server.url, "--key-env", "KEY", KEY=key)

    assert (without.code, wrong.code) == (2, 2)
    assert "the variable with --key-env." in without.err
    assert "rejects the API key." in wrong.err
    client = started(right)
    assert client["variables"]["KEY"] == key
    assert not any(key in part for part in client["arguments"])
    assert any('env_key = "KEY"' in part for part in client["arguments"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("vim",),
            2,
            f"`antiphon launch` does not support the client 'vim'. Supported: {', '.join(CLIENTS)}.",  # noqa: E501 - one text, or a row of a table
        ),
        (("codex", "--key-env", "KEY"), 2, "The variable KEY in --key-env is not set."),
        (
            ("codex", "--base-url", "http://127.0.0.1:9/v1"),
            1,
            "No Antiphon server responds at http://127.0.0.1:9/v1.",
        ),
        (
            ("codex", "--base-url", "http://127.0.0.1:9/v1", "--port", "1"),
            2,
            "--base-url selects a running server",
        ),
        (("codex", "--backend", "nonsense"), 2, "The backend 'nonsense' is not a URL."),
        (("codex", "--config", "none.toml"), 2, "The file none.toml cannot be read"),
    ],
)
async def test_an_error_describes_what_to_do(
    home: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = await launch(home, *arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"antiphon: {message}")
    assert done.err.count("\n") == 1


async def test_a_backend_that_does_not_answer_is_named(home: Path) -> None:
    done = await launch(home, "codex", "--backend", "http://127.0.0.1:9/v1")
    cause = (
        "Backend '127.0.0.1:9' (http://127.0.0.1:9/v1) is unreachable: connection refused. "
        "Check that it is running."
    )
    assert (done.code, done.err) == (2, f"antiphon: The server lists no model. {cause}\n")


async def test_the_scripted_model_describes_itself(home: Path) -> None:
    async with serve(DemoBackend()) as server:
        done = await launch(home, "codex", "--base-url", server.url)
    first, second = done.err.splitlines()

    assert first == f"antiphon: codex uses demo (context window: unknown) at {server.url}"
    assert second.startswith("antiphon: demo is Antiphon's scripted model")


async def test_a_too_weak_model_is_reported(home: Path, backend: ReplayBackend) -> None:
    (home / "antiphon.toml").write_text(
        '[[models]]\nname = "m"\nweaknesses = ["calls"]\ncontext_window = 32768\n'
    )
    done = await launch(home, "codex", "--backend", backend.url)

    assert f"antiphon: {verdict(ModelProfile(weaknesses=('calls',)))}\n" in done.err


async def test_a_server_that_does_not_start_has_its_reason(
    home: Path, backend: ReplayBackend
) -> None:
    taken = backend.url.split(":")[2].removesuffix("/v1")
    done = await launch(home, "codex", "--backend", backend.url, "--port", taken)

    assert (done.code, done.out) == (1, "")
    cause = f"Cannot listen on 127.0.0.1:{taken}: address already in use."
    advice = "Choose another port with --port, or stop the program that listens there."
    assert done.err == f"antiphon: `antiphon serve` did not start. {cause} {advice}\n"


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_that_is_not_installed_comes_with_the_command_that_installs_it(
    tmp_path: Path, client: str
) -> None:
    done = await antiphon(tmp_path, "launch", client, PATH=str(tmp_path))
    text = (
        f"The command '{client}' is not on PATH. Install it with `npm install -g "
        f"{CLIENTS[client].package}`."
    )
    assert (done.code, done.err) == (2, f"antiphon: {text}\n")


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 7), (signal.SIGHUP, 8)])
async def test_a_signal_reaches_the_client_and_the_server_ends(
    home: Path, backend: ReplayBackend, sent: signal.Signals, code: int
) -> None:
    process = await start(home, "launch", "codex", "--backend", backend.url, "wait", **paths(home))
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert await process.stdout.readline() == b"waiting False\n"
        below = pids_below(process.pid)
        process.send_signal(signal.SIGINT)  # a terminal sends it to the client itself
        process.send_signal(sent)
        assert await process.wait() == code

    assert len(below) == 2
    assert [pid for pid in below if exists(pid)] == []


async def test_a_client_that_a_signal_ended_has_the_code_of_a_shell(
    home: Path, backend: ReplayBackend
) -> None:
    assert (
        await launch(home, "codex", "--backend", backend.url, "die")
    ).code == 128 + signal.SIGKILL


async def test_a_signal_before_the_client_runs_ends_the_server_too(home: Path) -> None:
    requested = asyncio.Event()

    async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requested.set()
        await reader.read()
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/v1"
    process = await start(home, "launch", "codex", "--backend", url, **paths(home))
    async with silent, asyncio.timeout(PATIENCE):
        await requested.wait()
        (server,) = pids_below(process.pid)
        process.send_signal(signal.SIGTERM)
        out, _ = await process.communicate()

    assert (process.returncode, out) == (128 + signal.SIGTERM, b"")
    assert not exists(server)
    assert not [*(home / "tmp").glob("antiphon-launch-*")]
