"""Signing in to the console, and how a session ends."""

import gzip
import time
from dataclasses import replace as replace_fields
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.access import api_keys, sessions
from antiphon.access.api_keys import Mint
from antiphon.access.sessions import ConsoleSessions
from antiphon.ids import now
from antiphon.storage.operations import api_keys as stored_api_keys
from antiphon.storage.records.tenants import ApiKey, Role
from antiphon.upstream.options import ModelOptions
from antiphon.upstream.prices import Prices
from tests.support.keys import bearing, issued
from tests.support.server import RunningServer
from tests.support.signed_in import ELSEWHERE, Browser, console_of, operator, requested

SESSION = "/admin/v1/session"


@pytest.fixture
async def key(stateful: RunningServer) -> tuple[str, ApiKey]:
    return await issued(stateful.parts.store, "acme", role=Role.READ)


@pytest.fixture
def browser(stateful: RunningServer) -> Browser:
    return Browser(console_of(stateful))


async def code(server: RunningServer) -> str:
    return await ConsoleSessions(server.parts.store, now).issue_code()


async def test_a_key_signs_in_and_is_in_no_reply(
    stateful: RunningServer, browser: Browser, key: tuple[str, ApiKey]
) -> None:
    answered = await browser.sign_in(key=key[0])
    displayed = (await browser.send_request("GET", SESSION)).json

    assert (answered.status, answered.json) == (200, displayed)
    assert (displayed["role"], displayed["tenant"], displayed["key_id"]) == (
        "read",
        "acme",
        key[1].id,
    )
    assert (displayed["key_shown"], displayed["needs_key"], displayed["retention_days"]) == (
        key[1].displayed,
        True,
        30,
    )
    assert 0 < displayed["expires_at"] - time.time() <= sessions.IDLE
    assert key[0] not in str(answered.headers) + answered.body.decode()
    assert answered.header("cache-control") == "no-store"


async def test_the_cookie_is_for_this_server_and_for_no_script(
    browser: Browser, key: tuple[str, ApiKey]
) -> None:
    (cookie,) = (await browser.sign_in(key=key[0])).cookies

    assert set(cookie.split("; ")[1:]) == {
        "Path=/",
        "Max-Age=604800",
        "HttpOnly",
        "SameSite=Strict",
    }
    assert cookie.startswith("antiphon=")
    assert len(cookie.partition("=")[2].partition(";")[0]) == 43


@pytest.mark.parametrize(
    ("scheme", "sent"),
    [
        ("https", {}),
        ("http", {"x_forwarded_proto": "https"}),
        ("http", {"origin": "https://ai.example.com"}),
    ],
)
async def test_by_tls_the_cookie_is_secure(
    browser: Browser, key: tuple[str, ApiKey], scheme: str, sent: dict[str, str]
) -> None:
    browser.scheme = scheme
    browser.host = "ai.example.com"
    browser.client = ELSEWHERE
    answered = await browser.send_request("POST", SESSION, {"key": key[0]}, **sent)
    (cookie,) = answered.cookies
    browser.cookie = cookie.partition(";")[0]

    assert cookie.startswith("__Host-antiphon=")
    assert "; Secure" in cookie
    assert (await browser.send_request("GET", SESSION)).status == 200


async def test_by_tls_a_cookie_without_the_prefix_does_not_count(
    browser: Browser, key: tuple[str, ApiKey]
) -> None:
    await browser.sign_in(key=key[0])
    browser.scheme = "https"

    assert (await browser.send_request("GET", SESSION)).status == 401


async def test_no_session_begins_where_others_can_read_it(
    browser: Browser, key: tuple[str, ApiKey]
) -> None:
    browser.host = "192.168.0.5:8321"
    browser.client = ELSEWHERE
    answered = await browser.sign_in(key=key[0])

    assert (answered.status, answered.code, answered.cookies) == (403, "https_required", [])


async def test_an_address_of_this_machine_is_as_good_as_its_name(
    browser: Browser, key: tuple[str, ApiKey]
) -> None:
    browser.host = "192.168.0.5:8321"

    assert (await browser.sign_in(key=key[0])).status == 200


async def test_a_key_that_may_only_use_the_api_does_not_sign_in(
    stateful: RunningServer, browser: Browser
) -> None:
    displayed, stored_key = await issued(stateful.parts.store)
    answered = await browser.sign_in(key=displayed)

    assert (answered.status, answered.code) == (403, "not_allowed")
    assert f"antiphon keys update {stored_key.id} --role read" in answered.json["error"]["message"]


@pytest.mark.parametrize(
    "body", [{}, {"key": "a", "code": "b"}, {"key": 1}, {"token": "a"}, {"key": "x" * 1001}]
)
async def test_a_body_without_one_of_both_is_refused(
    browser: Browser, key: Any, body: dict[str, Any]
) -> None:
    assert (await browser.send_request("POST", SESSION, body)).status == 400


async def test_an_unauthenticated_client_cannot_send_a_large_body(
    browser: Browser, key: tuple[str, ApiKey]
) -> None:
    plain = await browser.send_request("POST", SESSION, {"key": "x" * 20_000})
    scope = browser.scope("POST", SESSION, content_encoding="gzip", transfer_encoding="chunked")
    packed = await requested(browser.app, scope, gzip.compress(b" " * 20_000))

    assert (plain.status, packed.status) == (413, 413)


async def test_a_link_of_the_command_line_signs_in_once(
    stateful: RunningServer, browser: Browser
) -> None:
    await issued(stateful.parts.store)
    link = await code(stateful)
    first = await browser.sign_in(code=link)
    again = await Browser(browser.app).sign_in(code=link)

    assert (first.status, first.json["role"], first.json["key_id"]) == (200, "admin", None)
    assert (again.status, again.code) == (401, "invalid_api_key")
    assert (await browser.send_request("GET", SESSION)).status == 200


async def test_a_link_ends_after_a_minute(
    stateful: RunningServer, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "CODE_LASTS", 0)

    assert (await browser.sign_in(code=await code(stateful))).status == 401


async def test_an_operator_signs_in_from_elsewhere_before_there_is_a_key(
    stateful: RunningServer,
) -> None:
    browser = await operator(stateful)
    browser.client = ELSEWHERE  # the bridge of a container, as the server sees it

    assert (await browser.send_request("GET", SESSION)).json["role"] == "admin"
    browser.cookie = ""
    assert (await browser.send_request("GET", SESSION)).status == 403


async def test_signing_out_ends_the_session_in_the_store(
    browser: Browser, key: tuple[str, ApiKey]
) -> None:
    await browser.sign_in(key=key[0])
    out = await browser.send_request("DELETE", SESSION)

    assert (out.status, out.json) == (200, {"object": "session", "deleted": True})
    assert all("Max-Age=0" in cookie for cookie in out.cookies)
    assert (await browser.send_request("GET", SESSION)).status == 401


async def test_signing_in_again_ends_the_session_before(
    browser: Browser, key: tuple[str, ApiKey]
) -> None:
    await browser.sign_in(key=key[0])
    before = browser.cookie
    await browser.sign_in(key=key[0])
    assert browser.cookie != before
    assert (await browser.send_request("GET", SESSION)).status == 200
    browser.cookie = before
    assert (await browser.send_request("GET", SESSION)).status == 401


@pytest.mark.parametrize("change", [{"revoked_at": 1}, {"expires_at": 1}])
async def test_a_key_that_ended_ends_its_sessions(
    stateful: RunningServer,
    browser: Browser,
    key: tuple[str, ApiKey],
    change: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_keys, "FRESH", 0.0)
    await browser.sign_in(key=key[0])
    await stateful.parts.store.write(stored_api_keys.put, replace(key[1], **change))

    for path in (SESSION, "/v1/models"):
        assert (await browser.send_request("GET", path)).status == 401


def test_what_is_remembered_of_a_key_is_forgotten_within_five_seconds() -> None:
    assert api_keys.FRESH <= 5


async def test_a_rotated_key_ends_its_sessions_when_the_old_key_ends(
    stateful: RunningServer,
    browser: Browser,
    key: tuple[str, ApiKey],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_keys, "FRESH", 0.0)
    store = stateful.parts.store
    await browser.sign_in(key=key[0])
    _, stored_key = (await Mint.of(store)).rotate(key[1], int(time.time()) + 600)
    await store.write(stored_api_keys.put, stored_key)
    assert (await browser.send_request("GET", SESSION)).status == 200
    await store.write(stored_api_keys.put, replace(stored_key, old_until=1))

    assert (await browser.send_request("GET", SESSION)).status == 401


async def test_a_role_that_was_lowered_counts_for_its_sessions(
    stateful: RunningServer, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_keys, "FRESH", 0.0)
    store = stateful.parts.store
    displayed, stored_key = await issued(store, role=Role.ADMIN)
    await browser.sign_in(key=displayed)
    await store.write(stored_api_keys.put, replace(stored_key, role=Role.READ))
    assert (await browser.send_request("GET", SESSION)).json["role"] == "read"
    await store.write(stored_api_keys.put, replace(stored_key, role=Role.USE))

    for path in (SESSION, "/v1/models"):
        assert (await browser.send_request("GET", path)).status == 403


async def test_a_session_ends_when_it_is_not_used(
    browser: Browser, key: tuple[str, ApiKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "IDLE", 0)
    await browser.sign_in(key=key[0])

    assert (await browser.send_request("GET", SESSION)).status == 401


@pytest.mark.parametrize(
    "cookie", ["", "antiphon=", "antiphon=nobodys", "antiphon", ";;=", "other=1; antiphon=\xff"]
)
async def test_without_a_session_no_user_is_signed_in(
    browser: Browser, key: Any, cookie: str
) -> None:
    browser.cookie = cookie
    answered = await browser.send_request("GET", SESSION)

    assert (answered.status, answered.code) == (401, "not_signed_in")


async def test_many_failures_make_an_address_wait(
    browser: Browser, key: tuple[str, ApiKey], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "antiphon.audit")
    for _ in range(sessions.FAILURES):
        assert (await browser.sign_in(key="sk-guessed")).status == 401
    for guess in ({"key": "sk-guessed"}, {"key": "sk-another"}, {"code": "guessed"}):
        answered = await browser.sign_in(**guess)
        assert (answered.status, answered.code) == (429, "too_many_attempts")
        assert 0 < int(answered.header("retry-after")) <= sessions.FORGIVEN_EVERY

    assert len(caplog.records) == sessions.FAILURES
    browser.client = "::1"
    assert (await browser.sign_in(key="sk-guessed")).status == 401


async def test_failures_of_others_behind_the_same_proxy_lock_out_no_client(
    stateful: RunningServer, browser: Browser, key: tuple[str, ApiKey]
) -> None:
    for _ in range(2 * sessions.FAILURES):
        await browser.sign_in(key="sk-guessed")

    assert (await browser.sign_in(key=key[0])).status == 200
    assert (await Browser(browser.app).sign_in(code=await code(stateful))).status == 200


async def test_the_one_header_signs_in_programs(browser: Browser, key: tuple[str, ApiKey]) -> None:
    browser.page = {}
    answered = await browser.send_request("GET", SESSION, **bearing(key[0]))

    assert (answered.status, answered.json["key_id"], answered.json["expires_at"]) == (
        200,
        key[1].id,
        None,
    )


async def test_the_key_wins_over_the_cookie(
    stateful: RunningServer, browser: Browser, key: tuple[str, ApiKey]
) -> None:
    other, stored_key = await issued(stateful.parts.store, "other", role=Role.ADMIN)
    await browser.sign_in(key=key[0])

    assert (await browser.send_request("GET", SESSION, **bearing(other))).json[
        "key_id"
    ] == stored_key.id
    assert (
        await browser.send_request("GET", SESSION, authorization="Bearer sk-wrong")
    ).status == 401


async def test_without_any_key_a_key_cannot_sign_in(browser: Browser) -> None:
    answered = await browser.sign_in(key="sk-any")

    assert (answered.status, answered.code) == (401, "invalid_api_key")


async def test_the_session_reports_whether_models_have_prices(stateful: RunningServer) -> None:
    browser = Browser(console_of(stateful), page={})
    assert (await browser.send_request("GET", SESSION)).json["has_prices"] is False
    (backend,) = stateful.parts.models.backends
    priced = ModelOptions("*", prices=Prices(1, 1, 1))
    backend.options = replace_fields(backend.options, configured=(priced,))
    assert (await browser.send_request("GET", SESSION)).json["has_prices"] is True
