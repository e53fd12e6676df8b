"""The log of `antiphon serve`: its two formats, its lines, and the form of every internal error."""

import asyncio
import json
import logging
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from antiphon.cli.logs import begin_log, log_loop_errors
from antiphon.config import Settings
from tests.support.cli import antiphon, serving
from tests.support.replay import Answer, ReplayBackend
from tests.support.waiting import let_others_run

CANARY = "ca7ary"


def refuse(request: object) -> Answer:
    error = json.dumps({"error": {"message": CANARY}}).encode()
    return Answer([error], "application/json", 429, headers={"retry-after": "5"})


async def server_log(home: Path, backend: ReplayBackend, **variables: str) -> str:
    """What a server writes to standard error about a request that is answered, and one that its
    backend refuses.
    """
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with serving(home, *flags, **variables) as server, aiohttp.ClientSession() as http:
        for status, script in ((200, backend.script), (429, refuse)):
            backend.script = script
            async with http.post(
                f"{server.url}/responses", json={"model": "m", "input": CANARY}
            ) as response:
                assert response.status == status
        async with http.get(f"{server.url.removesuffix('/v1')}/healthz?{CANARY}") as response:
            assert response.status == 200
        return (await server.stop(signal.SIGTERM)).err


async def test_only_important_events_are_worth_a_line(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    (line,) = (await server_log(tmp_path, backend)).splitlines()

    assert "WARNING antiphon: Backend '127.0.0.1:" in line
    assert "is paused for 5 s" in line
    assert line.endswith("]")
    assert CANARY not in line


async def test_a_line_for_every_request_where_that_is_wanted(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    written = await server_log(
        tmp_path, backend, ANTIPHON_LOG_FORMAT="json", ANTIPHON_ACCESS_LOG="true"
    )
    lines = [json.loads(line) for line in written.splitlines()]
    reported = [
        (line["status"], line["route"], line.get("outcome"))
        for line in lines
        if line.get("kind") == "request"
    ]

    assert reported == [("200", "/v1/responses", "completed"), ("429", "/v1/responses", "refused")]
    assert all(
        line["request_id"].startswith("req_") and line["time"].endswith("Z") for line in lines
    )
    assert CANARY not in written


async def test_a_line_names_the_model_the_cache_and_the_key(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    store = ("--store", f"sqlite://{tmp_path}/a.db")
    (tmp_path / "antiphon.toml").write_text(f'[[backends]]\nurl = "{backend.url}"\nmodels = "*"\n')
    created = await antiphon(tmp_path, "keys", "create", *store)
    head = {"authorization": f"Bearer {created.out.strip()}", "antiphon-cache": "on"}
    variables = {"ANTIPHON_LOG_FORMAT": "json", "ANTIPHON_ACCESS_LOG": "true"}
    async with (
        serving(tmp_path, "--port", "0", *store, **variables) as server,
        aiohttp.ClientSession() as http,
    ):
        for model in ("m", "m", CANARY):
            body = {"model": model, "input": "Hi"}
            async with http.post(f"{server.url}/responses", json=body, headers=head) as response:
                assert response.status == 200
        written = (await server.stop(signal.SIGTERM)).err
    lines = [json.loads(line) for line in written.splitlines()]

    assert [(line["model"], line["cache"]) for line in lines] == [
        ("m", "miss"),
        ("m", "hit"),
        ("other", "miss"),
    ]
    assert {line["api_key_id"] for line in lines} == {created.err.split()[0]}
    assert CANARY not in written


async def test_requests_have_lines_also_where_only_errors_are_worth_one(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    written = await server_log(
        tmp_path, backend, ANTIPHON_LOG_LEVEL="error", ANTIPHON_ACCESS_LOG="true"
    )

    assert written.count("INFO antiphon.access: POST /v1/responses") == 2
    assert "WARNING" not in written


@pytest.fixture
def hooks() -> Iterator[None]:
    """Put back what is the process's own."""
    before = threading.excepthook, sys.unraisablehook, logging.logThreads, logging.logProcesses
    access = logging.getLogger("antiphon.access").level
    yield
    threading.excepthook, sys.unraisablehook, logging.logThreads, logging.logProcesses = before
    logging.logMultiprocessing = True
    logging.getLogger("antiphon.access").setLevel(access)


def stumble() -> None:
    raise ValueError(CANARY)


def test_an_error_in_a_thread_is_logged(hooks: None, caplog: pytest.LogCaptureFixture) -> None:
    begin_log(Settings())
    thread = threading.Thread(target=stumble)
    thread.start()
    thread.join()
    (record,) = caplog.records

    assert (record.name, record.getMessage(), record.exc_info and record.exc_info[0]) == (
        "antiphon",
        "A fault in Antiphon",
        ValueError,
    )


def test_an_error_that_reaches_no_client_is_logged(
    hooks: None, caplog: pytest.LogCaptureFixture
) -> None:
    class Stumbling:
        def __del__(self) -> None:
            stumble()

    begin_log(Settings())
    Stumbling()
    assert [record.getMessage() for record in caplog.records] == ["A fault in Antiphon"]


async def test_loop_messages_are_logged_without_arguments_and_results(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    log_loop_errors()
    loop.call_soon(lambda stated: stumble(), CANARY)
    await let_others_run(2)
    loop.call_exception_handler({"message": "Task was destroyed but it is pending!"})

    assert [record.getMessage() for record in caplog.records] == [
        "A fault in Antiphon",
        "A fault in Antiphon: Task was destroyed but it is pending!",
    ]
    assert caplog.records[0].exc_info is not None


WRONG_STARTS = {
    "a misspelt flag": ["--prot", "1"],
    "a port that is not a number": ["--port", "x"],
    "a setting that does not exist": ["--config", "own.toml"],
    "a store that does not exist": ["--store", "redis://x"],
    "a host that does not exist": ["--host", "no.such.host.invalid", "--store", "sqlite://"],
}


@pytest.mark.parametrize("arguments", WRONG_STARTS.values(), ids=WRONG_STARTS)
async def test_a_failed_start_is_reported_as_json_if_the_log_is_json(
    tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "own.toml").write_text("prot = 1")
    done = await antiphon(
        tmp_path, "serve", *arguments, ANTIPHON_LOG_FORMAT="json", ANTIPHON_UNKNOWN="1"
    )

    lines = [json.loads(line) for line in done.err.splitlines()]
    assert (done.code, done.out) == (2, "")
    assert [line["level"] for line in lines][-1] == "error"
    assert all(line["message"] and line["time"] for line in lines)


async def test_a_port_in_use_is_reported_as_json_if_the_file_configures_it(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    (tmp_path / "own.toml").write_text('log_format = "json"')
    port = backend.url.split(":")[2].partition("/")[0]
    done = await antiphon(
        tmp_path, "serve", "--port", port, "--store", "sqlite://", "--config=own.toml"
    )

    (line,) = map(json.loads, done.err.splitlines())
    assert line["message"].startswith(
        f"Cannot listen on 127.0.0.1:{port}: address already in use. Choose another "
    )


async def test_every_line_of_a_server_is_json_where_the_log_is_json(tmp_path: Path) -> None:
    flags = ("--port", "0", "--store", "sqlite://", "--backend", "http://127.0.0.1:9/v1")
    async with serving(
        tmp_path, *flags, ANTIPHON_LOG_FORMAT="json", ANTIPHON_ACCESS_LOG="true"
    ) as server:
        url = urlsplit(server.url)
        for sent in (b"nonsense\r\n\r\n", b"\x16\x03\x01 a handshake of TLS\r\n\r\n"):
            reader, writer = await asyncio.open_connection(url.hostname, url.port)
            writer.write(sent)
            assert await reader.read()
            writer.close()
        async with aiohttp.ClientSession() as http:
            async with http.post(f"{server.url}/responses", data=b"{") as response:
                assert response.status in {400, 415}
            async with http.post(
                f"{server.url}/responses", json={"model": "m", "input": "Hi"}
            ) as response:
                assert response.status == 503
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn_explicit("an old way", DeprecationWarning, "somewhere.py", 1, registry={})
        await server.until(lambda: "an old way" in server.err.text)
        written = (await server.stop(signal.SIGINT)).err

    lines = [json.loads(line) for line in written.splitlines()]
    assert any("is unreachable: connection refused" in line["message"] for line in lines)
    assert any(line["logger"] == "py.warnings" for line in lines)
