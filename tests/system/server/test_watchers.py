"""The metrics of a server with API keys: opened by a key, by a network, or on a listener of their
own.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from bench.ports import free_port

from tests.support.command import Serving, antiphon, serving
from tests.support.keys import bearing
from tests.support.metrics import read
from tests.support.programs import find, needs
from tests.support.replay import ReplayBackend
from tests.support.workers import until_both_report
from tests.system.deploy.proxies import running

KEY = "watch-me-if-you-can"

NGINX = find("nginx") or ""

SILENT_PROXY = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{server}; }} }}
}}
"""
"""A proxy that forwards everything, and adds no header that says so."""


@asynccontextmanager
async def guarded(
    folder: Path, backend: str, *flags: str, **variables: str
) -> AsyncIterator[tuple[Serving, str]]:
    """A server whose store has a key; that key."""
    store = f"sqlite://{folder}/antiphon.db"
    key = (await antiphon(folder, "keys", "create", "--store", store)).out.strip()
    arguments = ("--port", "0", "--backend", backend, "--store", store, *flags)
    async with serving(folder, *arguments, **variables) as server:
        yield server, key


async def get(url: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as response:
        return response.status, await response.text()


def root(server: Serving) -> str:
    return server.url.removesuffix("/v1")


async def test_a_listener_of_its_own_shows_what_all_workers_counted_and_nothing_else(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    watch = f"127.0.0.1:{free_port()}"
    variables = {"ANTIPHON_METRICS_LISTEN": watch}
    async with guarded(tmp_path, backend.url, "--workers", "2", **variables) as (server, key):
        async with aiohttp.ClientSession(headers=bearing(key)) as http:
            await until_both_report(f"http://{watch}", http)
            for _ in range(6):
                async with http.post(
                    f"{server.url}/responses", json={"model": "m", "input": "Hi"}
                ) as response:
                    assert response.status == 200
            async with http.get(f"http://{watch}/v1/models") as response:
                assert response.status == 404
        assert (await get(f"http://{watch}/v1/models"))[0] == 401
        assert (
            (await get(f"{root(server)}/metrics"))[0]
            == (await get(f"{root(server)}/status"))[0]
            == 403
        )
        for _ in range(4):
            status, text = await get(f"http://{watch}/metrics", {"x-forwarded-for": "8.8.8.8"})
            assert (status, read(text)["antiphon_responses_total{model=m,status=completed}"]) == (
                200,
                6,
            )
        assert [
            (await get(f"http://{watch}/{path}"))[0] for path in ("status", "healthz", "readyz")
        ] == [200] * 3
        output = await antiphon(tmp_path, "status", "--once", **variables)
        assert any(f"metrics at http://{watch}/metrics" in line for line in server.lines)
        done = await server.stop(signal.SIGTERM)

    assert (output.code, "2 workers" in output.out) == (0, True)
    assert (done.code, done.err) == (0, "")


async def test_the_listener_answers_while_the_api_has_all_its_clients(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    watch = f"127.0.0.1:{free_port()}"
    variables = {"ANTIPHON_METRICS_LISTEN": watch, "ANTIPHON_MAX_CONNECTIONS": "2"}
    async with guarded(tmp_path, backend.url, **variables) as (server, _):
        port = int(server.url.rpartition(":")[2].removesuffix("/v1"))
        retained = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        refused, _ = await get(f"{root(server)}/healthz")
        status, text = await get(f"http://{watch}/metrics")
        for _, writer in retained:
            writer.close()

    assert (refused, status) == (503, 200)
    assert "process_open_fds" in text


async def test_the_key_opens_the_metrics_through_any_proxy(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    variables = {"ANTIPHON_METRICS_KEY_ENV": "WATCH_KEY", "WATCH_KEY": KEY}
    async with guarded(tmp_path, backend.url, **variables) as (server, key):
        (tmp_path / "antiphon.toml").write_text('metrics_key_env = "WATCH_KEY"\n')
        displayed = [
            (await get(f"{root(server)}/metrics", headers))[0]
            for headers in (
                {**bearing(KEY), "x-forwarded-for": "8.8.8.8"},
                bearing(key),
                bearing("x"),
                {},
            )
        ]
        status = await antiphon(tmp_path, "status", "--once", "--url", root(server), WATCH_KEY=KEY)
        without = await antiphon(tmp_path, "status", "--once", "--url", root(server))
        done = await server.stop(signal.SIGTERM)

    assert displayed == [200, 403, 403, 403]
    assert (status.code, without.code) == (0, 1)
    assert "metrics_key_env" in without.err
    assert KEY not in done.out + done.err + status.out + without.err


async def test_a_network_that_is_named_may_read(tmp_path: Path, backend: ReplayBackend) -> None:
    async with guarded(tmp_path, backend.url, ANTIPHON_METRICS_NETWORKS="127.0.0.0/8") as (
        server,
        _,
    ):
        displayed = [
            (await get(f"{root(server)}/metrics", headers))[0]
            for headers in ({}, {"via": "1.1 proxy"})
        ]

    assert displayed == [200, 403]


@needs(NGINX, "nginx")
async def test_a_proxy_on_the_same_machine_that_adds_no_header_shows_nothing(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    async with guarded(tmp_path, backend.url) as (server, _):
        port = free_port()
        configuration = tmp_path / "nginx.conf"
        behind = server.url.rpartition(":")[2].removesuffix("/v1")
        configuration.write_text(SILENT_PROXY.format(folder=tmp_path, port=port, server=behind))
        async with running(
            port, NGINX, "-e", "stderr", "-p", str(tmp_path), "-c", str(configuration)
        ):
            statuses = [
                (await get(f"http://127.0.0.1:{port}/{path}"))[0]
                for path in ("healthz", "metrics", "status")
            ]

    assert statuses == [200, 403, 403]


@pytest.mark.parametrize(
    ("variables", "reported"),
    [
        (
            {"ANTIPHON_METRICS_KEY_ENV": "WATCH_KEY"},
            "metrics_key_env names the variable WATCH_KEY, which is not set",
        ),
        ({"ANTIPHON_METRICS_LISTEN": "127.0.0.1"}, "metrics_listen is '127.0.0.1'"),
        ({"ANTIPHON_METRICS_NETWORKS": "10.0.0.0/33"}, "metrics_networks has '10.0.0.0/33'"),
    ],
)
async def test_a_wrong_setting_ends_the_start_with_its_name(
    tmp_path: Path, variables: dict[str, str], reported: str
) -> None:
    done = await antiphon(tmp_path, "serve", "--port", "0", "--store", "sqlite://", **variables)

    assert (done.code, reported in done.err) == (2, True)


async def test_an_address_that_is_taken_is_named(tmp_path: Path) -> None:
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    address = f"127.0.0.1:{taken.sockets[0].getsockname()[1]}"
    done = await antiphon(
        tmp_path, "serve", "--port", "0", "--store", "sqlite://", ANTIPHON_METRICS_LISTEN=address
    )
    taken.close()

    assert done.code == 2
    assert f"Cannot listen on {address}" in done.err
    assert "metrics_listen" in done.err
