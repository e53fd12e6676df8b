"""Who may ask: `Host` and `Origin` (bad inputs 5 and 21, threat 18)."""

import json

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from antiphon.server.limits import ANY, ServerLimits, hosts_of, is_local
from antiphon.upstream.http import HttpBackend
from tests.support.raw import BODY, error_of, post, state, status_of
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve

PAGE = "https://app.example.com"
LOCAL = ServerLimits(hosts=hosts_of("127.0.0.1", ["ai.example.com"]), origins=frozenset({PAGE}))


@pytest.fixture
async def local(backend: ReplayBackend):
    """A server that listens on this machine alone."""
    async with serve(HttpBackend("replay", backend.url), limits=LOCAL) as one:
        yield one


async def request(
    server: RunningServer, method: str = "GET", path: str = "/models", **headers: str
) -> tuple[int, dict[str, str]]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with server.http.request(method, server.url + path, headers=sent) as response:
        return response.status, {name.lower(): value for name, value in response.headers.items()}


@pytest.mark.parametrize(
    "host",
    [
        *(
            "localhost",
            "localhost:8321",
            "LOCALHOST",
            "localhost.",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.1.2.3",
            "[::1]",
        ),
        *("[::1]:8321", "host.docker.internal:8321", "ai.example.com", "AI.example.com:443"),
    ],
)
async def test_the_names_of_this_machine_and_those_allowed_are_answered(
    local: RunningServer, host: str
) -> None:
    assert (await request(local, host=host))[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.com",
            "evil.com:8321",
            "127.0.0.1.evil.com",
            "localhost.evil.com",
            "192.168.0.7",
            "[fe80::1]",
            "[::2]:1",
        ),
        *(
            "2130706433",
            "127.1",
            "0.0.0.0",
            "",
            ":8321",
            "ai.example.com.evil.com",
            "x@localhost",
            "localhost@evil.com",
        ),
        "evil.com#localhost",
    ],
)
async def test_another_name_is_refused_with_the_setting_to_change(
    local: RunningServer, backend: ReplayBackend, host: str
) -> None:
    reply = await state(local.url, post().replace(b"host: x", b"host: " + host.encode()))

    assert (status_of(reply), error_of(reply)["code"]) == (421, None)
    assert "allowed_hosts" in error_of(reply)["message"]
    assert backend.requests == []


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/openapi.json", "/nowhere"])
async def test_every_path_is_guarded(local: RunningServer, path: str) -> None:
    requested = b"GET %s HTTP/1.1\r\nhost: evil.com\r\nconnection: close\r\n\r\n" % path.encode()

    assert status_of(await state(local.url, requested)) == 421


async def test_a_request_without_host_is_refused(server: RunningServer) -> None:
    reply = await state(server.url, post().replace(b"host: x\r\n", b""))

    assert (status_of(reply), error_of(reply)["code"]) == (400, None)


async def test_http_1_0_needs_no_host(server: RunningServer) -> None:
    assert status_of(await state(server.url, b"GET /v1/models HTTP/1.0\r\n\r\n")) == 200


@pytest.mark.parametrize(
    "header",
    [
        b"host: y",
        b"authorization: Bearer b",
        b"content-type: text/plain",
        b"content-encoding: gzip",
    ],
)
async def test_a_header_that_stands_twice_is_refused(
    server: RunningServer, backend: ReplayBackend, header: bytes
) -> None:
    first = header.partition(b":")[0] + b": application/json"
    reply = await state(server.url, post(BODY, first, header))

    assert (status_of(reply), error_of(reply)["code"]) == (400, None)
    assert backend.requests == []


async def test_a_public_listener_answers_under_any_name_until_some_are_allowed() -> None:
    assert hosts_of("0.0.0.0", []) == hosts_of("192.168.0.7", []) == {ANY}
    assert "evil.com" not in hosts_of("0.0.0.0", ["ai.example.com"])
    assert ANY in hosts_of("127.0.0.1", ["*"])
    assert {"localhost", "ai.example.com"} < hosts_of("::", ["AI.example.com"])
    assert [
        is_local(name) for name in ("::1", "127.9.9.9", "localhost", "::ffff:10.0.0.1", "x")
    ] == [*(True, True, True, False, False)]


# Pages.


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://app.example.com:444"]
)
async def test_a_page_of_another_site_is_refused_without_data(
    local: RunningServer, origin: str
) -> None:
    status, headers = await request(local, origin=origin)

    assert status == 403
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
async def test_a_page_of_another_site_makes_no_response(
    local: RunningServer, backend: ReplayBackend, kind: str
) -> None:
    sent = post(BODY, b"origin: https://evil.example", b"content-type: " + kind.encode()).replace(
        b": x", b": localhost"
    )
    reply = await state(local.url, sent)

    assert (status_of(reply), error_of(reply)["code"]) == (403, "origin_not_allowed")
    assert "allowed_origins" in error_of(reply)["message"]
    assert backend.requests == []


async def test_a_page_of_this_server_is_answered(local: RunningServer) -> None:
    assert (await request(local, origin=local.url.removesuffix("/v1")))[0] == 200


async def test_a_page_that_is_allowed_may_read_the_answer(local: RunningServer) -> None:
    status, headers = await request(local, origin=PAGE)

    assert (status, headers["access-control-allow-origin"], headers["vary"]) == (
        200,
        PAGE,
        "origin",
    )
    assert "access-control-allow-credentials" not in headers


async def test_a_page_that_is_allowed_may_read_an_error(local: RunningServer) -> None:
    status, headers = await request(local, path="/nowhere", origin=PAGE)

    assert (status, headers["access-control-allow-origin"]) == (404, PAGE)


async def test_a_browser_receives_the_permissions_of_a_page(local: RunningServer) -> None:
    body = {
        "access_control_request_method": "POST",
        "access_control_request_headers": "authorization,x-stainless-os",
    }
    status, headers = await request(local, "OPTIONS", "/responses", origin=PAGE, **body)

    assert status == 200
    assert headers["access-control-allow-origin"] == PAGE
    assert "POST" in headers["access-control-allow-methods"]
    assert headers["access-control-allow-headers"] == "authorization,x-stainless-os"


async def test_a_browser_receives_no_permissions_for_another_page(local: RunningServer) -> None:
    body = {"origin": "https://evil.example", "access_control_request_method": "POST"}
    status, headers = await request(local, "OPTIONS", "/responses", **body)

    assert status == 403
    assert not any(name.startswith("access-control-allow") for name in headers)


async def test_every_page_can_send_requests_if_the_operator_allows_it(
    backend: ReplayBackend,
) -> None:
    async with serve(
        HttpBackend("replay", backend.url), limits=ServerLimits(origins=frozenset({ANY}))
    ) as server:
        status, headers = await request(server, origin="null")

    assert (status, headers["access-control-allow-origin"]) == (200, "null")


@pytest.mark.parametrize(
    ("origin", "opens"), [(PAGE, True), ("https://evil.example", False), ("null", False)]
)
async def test_a_websocket_is_opened_for_the_same_pages(
    local: RunningServer, origin: str, opens: bool
) -> None:
    url = local.url.replace("http://", "ws://") + "/responses"
    if opens:
        async with connect(url, origin=origin):
            return
    with pytest.raises(InvalidStatus) as caught:
        await connect(url, origin=origin)
    assert caught.value.response.status_code == 403
    assert json.loads(caught.value.response.body)["error"]["code"] == "origin_not_allowed"


async def test_a_websocket_under_another_name_is_refused(local: RunningServer) -> None:
    upgrade = (
        b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: "
        b"13\r\nsec-websocket-key: "
    )
    requested = (
        b"GET /v1/responses HTTP/1.1\r\nhost: evil.com\r\n"
        + upgrade
        + b"AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )

    assert status_of(await state(local.url, requested)) == 421
