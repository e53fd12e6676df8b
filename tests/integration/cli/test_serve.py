"""`antiphon serve` as a user meets it."""

import asyncio
import json
import shlex
import signal
import socket
from pathlib import Path

import aiohttp
import pytest
from aiohttp import ClientSession
from openai import AsyncOpenAI
from websockets.asyncio.client import connect

from antiphon.build.hosting import limits_of
from antiphon.config import Settings
from antiphon.server import console
from tests.support.cli import antiphon, serving
from tests.support.command import PATIENCE
from tests.support.raw import connected, post, state, status_of
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.waiting import eventually

UNAVAILABLE = "http://127.0.0.1:9/v1"

LONG = str(20 * PATIENCE)
"""A grace that is longer than any test."""


def one_line(text: str) -> str:
    """The only line of an error."""
    assert text.count("\n") == 1
    assert text.startswith("antiphon: ")
    return text


async def test_it_reports_its_address_its_store_and_its_models(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    async with serving(
        tmp_path, "--port", "0", "--backend", backend.url, "--backend", UNAVAILABLE
    ) as server:
        ready, curl = server.lines

    assert ready.startswith("Antiphon ")
    assert f"base URL {server.url};" in ready
    assert "store sqlite:///~/.local/share/antiphon/antiphon.db" in ready
    assert f"at {backend.url} with m" in ready
    assert (
        f"; Backend '127.0.0.1:9' ({UNAVAILABLE}) is unreachable: connection refused. Check that "
        "it is running;"
    ) in ready
    assert curl.startswith(f"curl {server.url}/responses ")
    assert (tmp_path / ".local/share/antiphon/antiphon.db").exists()


async def test_it_names_the_console_where_its_bundle_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "static/index.html"
    page.parent.mkdir()
    page.write_text("")
    monkeypatch.setattr(console, "STATIC", page.parent)
    for settings, is_there in (("", True), ("console = false", False), ("", False)):
        (tmp_path / "antiphon.toml").write_text(settings)
        async with serving(tmp_path, "--port", "0", "--backend", UNAVAILABLE) as server:
            assert (
                f"; console at {server.url.removesuffix('v1')}console/;" in server.lines[0]
            ) is is_there
        if settings:
            page.unlink()


async def test_it_states_that_demo_is_no_real_model_and_each_answer_names_it(
    tmp_path: Path,
) -> None:
    async with (
        serving(tmp_path, "--port", "0", "--store", "sqlite://") as server,
        ClientSession() as http,
    ):
        body = {"model": "demo", "input": "My name is Ada. What is my name?"}
        async with http.post(f"{server.url}/responses", json=body) as answer:
            stated = await answer.json()

    assert "no real model" in server.lines[0]
    assert stated["output"][0]["content"][0]["text"] == "Your name is Ada."
    assert answer.headers["antiphon-backend"] == "demo"


async def test_it_reports_that_it_creates_the_stores_file(tmp_path: Path) -> None:
    ready = []
    store = f"sqlite://{tmp_path}/a.db"
    for _ in range(2):
        async with serving(
            tmp_path, "--port", "0", "--backend", UNAVAILABLE, "--store", store
        ) as server:
            ready.append(server.lines[0])

    assert f"; store {store} (a new file);" in ready[0]
    assert f"; store {store};" in ready[1]


async def test_it_calls_models_as_clients_call_them(tmp_path: Path, backend: ReplayBackend) -> None:
    (tmp_path / "antiphon.toml").write_text(
        f'[[backends]]\nurl = "{backend.url}"\nmodels = ["n"]\naliases = {{ fast = "m" }}\n'
    )
    async with serving(tmp_path, "--port", "0", "--store", "sqlite://") as server:
        ready, _ = server.lines

    assert f"at {backend.url} with fast → m, n (not listed);" in ready


async def test_it_reports_its_tools_and_which_program_is_missing(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    (tmp_path / "antiphon.toml").write_text(
        'web_search = "http://127.0.0.1:9/find"\n'
        '[[mcp_servers]]\nlabel = "there"\ncommand = "sh"\n'
        '[[mcp_servers]]\nlabel = "missing"\ncommand = "no-such-program"\n'
    )
    async with serving(
        tmp_path, "--port", "0", "--store", "sqlite://", "--backend", backend.url
    ) as server:
        ready, _ = server.lines
        done = await server.stop(signal.SIGTERM)

    assert "; MCP servers there, missing; web search by searxng at http://127.0.0.1:9;" in ready
    assert "The MCP server 'missing' will fail" in done.err
    assert "'there'" not in done.err


async def test_the_curl_line_works_as_it_stands(tmp_path: Path, backend: ReplayBackend) -> None:
    backend.models = [{"id": "it's m"}]
    async with serving(
        tmp_path, "--port", "0", "--backend", backend.url, "--store", "sqlite://"
    ) as server:
        _, url, flag, header, data_flag, body = shlex.split(server.lines[-1])
        assert (flag, data_flag) == ("-H", "-d")
        name, value = header.split(": ")
        async with (
            aiohttp.ClientSession() as http,
            http.post(url, data=body, headers={name: value}) as response,
        ):
            answer = await response.json()

    assert answer["output_text"] == "You said: Hello!"
    assert answer["model"] == "it's m"


@pytest.mark.wide
async def test_responses_outlive_the_server(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", f"sqlite:///{tmp_path}/mine.db")
    async with (
        serving(tmp_path, *flags) as server,
        AsyncOpenAI(base_url=server.url, api_key="x") as sdk,
    ):
        first = await sdk.responses.create(model="m", input="one")
        assert (await server.stop(signal.SIGTERM)).code == 0
    async with (
        serving(tmp_path, *flags) as server,
        AsyncOpenAI(base_url=server.url, api_key="x") as sdk,
    ):
        await sdk.responses.create(model="m", input="two", previous_response_id=first.id)

    assert [message["content"] for message in backend.requests[-1]["messages"]] == [
        "one",
        "You said: one",
        "two",
    ]


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_at_once_and_well(
    tmp_path: Path, backend: ReplayBackend, name: signal.Signals
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with (
        serving(tmp_path, *flags, ANTIPHON_GRACE=LONG) as server,
        aiohttp.ClientSession() as http,
    ):
        await (await http.get(f"{server.url}/models")).read()
        done = await server.stop(name)

    assert (done.code, done.err) == (0, "")


async def test_a_stream_that_runs_is_finished_before_the_end(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    rest = sse(delta(content=" upon"), delta("stop"))
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=go, rest=[rest]
    )
    body = {"model": "m", "input": "Hi", "stream": True}
    async with serving(
        tmp_path, "--port", "0", "--backend", backend.url, "--store", "sqlite://"
    ) as server:
        async with aiohttp.ClientSession() as http:
            response = await http.post(f"{server.url}/responses", json=body)
            await response.content.readuntil(b"output_text.delta")
            ending = asyncio.create_task(server.stop(signal.SIGTERM))
            await eventually(lambda: readiness(http, server.url), lambda one: one != 200)
            async with http.post(f"{server.url}/responses", json=body) as refused:
                assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            go.set()
            text = await response.read()
            response.close()
        done = await ending

    assert b"event: response.completed" in text
    assert done.code == 0


async def readiness(http: aiohttp.ClientSession, url: str) -> int:
    async with http.get(url.removesuffix("/v1") + "/readyz") as response:
        return response.status


async def test_a_port_in_use_is_reported_on_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = await antiphon(
            tmp_path, "serve", "--port", port, "--backend", UNAVAILABLE, "--store", "sqlite://"
        )

    assert done.code == 2
    assert f"Cannot listen on 127.0.0.1:{port}" in one_line(done.err)


async def test_settings_come_from_the_environment_and_the_file(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    (tmp_path / "antiphon.toml").write_text(
        f'port = 1\nstore = "sqlite://"\n[[backends]]\nurl = "{backend.url}"\nname = '
        '"mine"\nkey_env = "MY_KEY"\n'
    )
    variables = {"ANTIPHON_PORT": "0", "MY_KEY": "sk-secret", "ANTIPHON_LOG_LEVEL": "debug"}
    async with serving(tmp_path, **variables) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="x") as sdk:
            await sdk.responses.create(model="m", input="Hi")
        done = await server.stop(signal.SIGINT)

    assert "backend mine at" in server.lines[0]
    assert b"Bearer sk-secret" in backend.heads[0]
    assert "sk-secret" not in "\n".join([*server.lines, done.out, done.err])


def everything_in(folder: Path) -> str:
    return "".join(path.read_text("latin-1") for path in folder.rglob("*") if path.is_file())


async def test_text_and_metadata_are_in_no_log(tmp_path: Path, backend: ReplayBackend) -> None:
    quiet = {"ANTIPHON_LOG_LEVEL": "debug"}
    async with serving(tmp_path, "--port", "0", "--backend", backend.url, **quiet) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="sk-canary", max_retries=0) as sdk:
            await sdk.responses.create(
                model="m", input="canary", store=False, metadata={"canary": "canary"}
            )
            backend.script = lambda request: Answer(
                [b'{"error": {"message": "canary"}}'], status=500
            )
            with pytest.raises(Exception, match="failed with status"):
                await sdk.responses.create(model="m", input="canary", store=False)
        done = await server.stop(signal.SIGINT)

    assert "canary" not in done.out + done.err
    assert "canary" not in everything_in(tmp_path)


async def test_a_websocket_is_accepted_and_closed_when_the_server_stops(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with serving(tmp_path, *flags, ANTIPHON_GRACE=LONG) as server:
        async with connect(server.url.replace("http://", "ws://") + "/responses") as broken:
            broken.transport.write(b"\x81\x82\0\0\0\0\xff\xfe")
            await broken.wait_closed()
        async with connect(server.url.replace("http://", "ws://") + "/responses") as one:
            await one.send(json.dumps({"type": "response.create", "model": "m", "input": "Hi"}))
            received = [json.loads(await one.recv())["type"]]
            while received[-1] != "response.completed":
                received.append(json.loads(await one.recv())["type"])
            done = await server.stop(signal.SIGTERM)
            await one.wait_closed()

    assert (broken.close_code, one.close_code) == (1007, 1001)
    assert (done.code, done.err) == (0, "")


async def test_a_websocket_upgrade_leaves_no_advice_in_the_log(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    headers = {"connection": "upgrade", "upgrade": "websocket"}
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with serving(tmp_path, *flags, ANTIPHON_WEBSOCKET="false") as server:
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"{server.url}/responses", headers=headers) as response,
        ):
            assert response.status == 426
        done = await server.stop(signal.SIGINT)

    assert done.err == ""


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
async def test_it_listens_on_ipv6(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--host", "::1", "--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with serving(tmp_path, *flags) as server, aiohttp.ClientSession() as http:
        assert server.url.startswith("http://[::1]:")
        async with http.get(f"{server.url}/models") as response:
            assert response.status == 200


async def test_without_a_key_only_this_machine_has_access(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    store = ("--store", f"sqlite://{tmp_path}/a.db")
    flags = ("--host", "0.0.0.0", "--port", "0", "--backend", backend.url, *store)
    refused = await antiphon(tmp_path, "serve", *flags)
    created = await antiphon(tmp_path, "keys", "create", *store)
    async with serving(tmp_path, *flags) as server, aiohttp.ClientSession() as http:
        assert server.url.startswith("http://127.0.0.1:")
        async with http.get(f"{server.url}/models") as response:
            assert response.status == 401
        async with http.get(
            f"{server.url}/models", headers={"authorization": f"Bearer {created.out.strip()}"}
        ) as response:
            assert response.status == 200
        assert "no API key" not in server.lines[0]

    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "antiphon keys create" in refused.err


async def test_it_is_ready_and_describes_itself(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with serving(tmp_path, *flags) as server, aiohttp.ClientSession() as http:
        root = server.url.removesuffix("/v1")
        async with http.get(f"{root}/readyz") as response:
            assert await response.json() == {"status": "ok", "store": True, "backends": True}
        async with http.get(f"{root}/openapi.json") as response:
            assert json.loads(await response.read())["info"]["title"] == "Antiphon"


async def test_on_this_machine_alone_it_answers_to_its_own_names(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    allowed = {
        "ANTIPHON_ALLOWED_HOSTS": "ai.example.com",
        "ANTIPHON_ALLOWED_ORIGINS": "https://app.example.com",
    }
    async with serving(tmp_path, *flags, **allowed) as server, aiohttp.ClientSession() as http:

        async def request(**headers: str) -> int:
            async with http.get(f"{server.url}/models", headers=headers) as response:
                return response.status

        assert [
            await request(host=host) for host in ("localhost:1", "ai.example.com", "evil.com")
        ] == [200, 200, 421]
        assert await request(origin="https://app.example.com") == 200
        assert await request(origin="https://evil.example") == 403


async def test_bodies_and_connections_have_the_limits_that_are_set(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    limits = {"ANTIPHON_MAX_BODY": "2000", "ANTIPHON_MAX_CONNECTIONS": "1"}
    body = json.dumps({"model": "m", "input": "x" * 3000}).encode()
    async with serving(tmp_path, *flags, **limits) as server:
        large = await state(server.url, post(body).replace(b"host: x", b"host: localhost"))
        async with connected(server.url):
            one_too_many = await state(server.url, post())

    assert (status_of(large), status_of(one_too_many)) == (413, 503)


async def test_it_takes_no_more_connections_than_it_may_open_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 1024))
    assert limits_of(Settings()).connections == 448
    assert limits_of(Settings(max_connections=7)).connections == 7
