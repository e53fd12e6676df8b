"""Who may use the console's API: roles, this machine, and what pages of other sites and proxies
try.
"""

from typing import Any

import pytest

from antiphon.access.api_keys import KnownKeys
from antiphon.access.sessions import ConsoleSessions
from antiphon.ids import now
from antiphon.server.limits import ANY, ServerLimits
from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import Role
from tests.support.changed_stores import replace_operation
from tests.support.keys import bearing, issued
from tests.support.server import RunningServer
from tests.support.signed_in import ELSEWHERE, Browser, console_of, operator, signed_in

SESSION = "/admin/v1/session"
HI = {"model": "m", "input": "Hi"}


@pytest.fixture
def stranger(stateful: RunningServer) -> Browser:
    """A program without a key or a session."""
    return Browser(console_of(stateful), page={})


@pytest.mark.parametrize(("role", "status"), [(Role.USE, 403), (Role.READ, 200), (Role.ADMIN, 200)])
async def test_a_keys_role_decides(
    stateful: RunningServer, stranger: Browser, role: Role, status: int
) -> None:
    key, stored_key = await issued(stateful.parts.store, role=role)
    answered = await stranger.send_request("GET", SESSION, **bearing(key))
    used = await stranger.send_request("POST", "/v1/responses", HI, **bearing(key))

    assert (answered.status, used.status) == (status, 200)
    if status == 403:
        assert answered.code == "not_allowed"
        assert (
            f"antiphon keys update {stored_key.id} --role read" in answered.json["error"]["message"]
        )


async def test_without_any_key_programs_of_this_machine_are_administrators(
    stranger: Browser,
) -> None:
    displayed = (await stranger.send_request("GET", SESSION)).json

    assert (
        displayed["role"],
        displayed["needs_key"],
        displayed["tenant"],
        displayed["expires_at"],
    ) == (
        "admin",
        False,
        None,
        None,
    )


@pytest.mark.parametrize(
    "header",
    ["x_forwarded_for", "forwarded", "via", "x_real_ip", "x_forwarded_proto", "cf_connecting_ip"],
)
async def test_a_proxy_opens_nothing_to_those_behind_it(stranger: Browser, header: str) -> None:
    answered = await stranger.send_request("GET", SESSION, **{header: "127.0.0.1"})

    assert (answered.status, answered.code) == (403, "not_allowed")
    assert "antiphon console" in answered.json["error"]["message"]


async def test_a_proxy_that_adds_nothing_opens_nothing_once_a_key_exists(
    stateful: RunningServer, stranger: Browser
) -> None:
    await issued(stateful.parts.store)

    assert (await stranger.send_request("GET", SESSION)).status == 401
    stranger.page = {"antiphon-console": "1"}
    assert (await stranger.send_request("GET", SESSION)).status == 401


async def test_other_machines_are_refused(stranger: Browser) -> None:
    stranger.client = ELSEWHERE

    assert (await stranger.send_request("GET", SESSION)).status == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8321", "localhost.evil.example", "127.0.0.1.evil.example"],
)
async def test_a_name_that_means_this_machine_for_now_opens_nothing(
    stateful: RunningServer, host: str
) -> None:
    """DNS rebinding: to the browser, the page and the server are of one origin."""
    browser = Browser(console_of(stateful, ServerLimits(hosts=frozenset({ANY}))), host=host)
    for method in ("GET", "DELETE"):
        assert (await browser.send_request(method, SESSION)).status == 403


FORGERIES: list[tuple[str, dict[str, str]]] = [
    (
        "a form of another site",
        {"antiphon_console": "", "sec_fetch_site": "cross-site", "origin": "https://evil.example"},
    ),
    (
        "a form, in an old browser",
        {"antiphon_console": "", "sec_fetch_site": "", "origin": "https://evil.example"},
    ),
    ("a link", {"antiphon_console": "", "sec_fetch_site": "cross-site", "origin": ""}),
    ("a sandboxed page", {"sec_fetch_site": "cross-site", "origin": "null"}),
    (
        "a page that is allowed to use the API",
        {"sec_fetch_site": "cross-site", "origin": "https://app.example"},
    ),
    ("a page at another port", {"sec_fetch_site": "same-site", "origin": "http://localhost:3000"}),
    ("a script without the header", {"antiphon_console": ""}),
]
ALLOWED = ServerLimits(origins=frozenset({"https://app.example"}))


@pytest.mark.parametrize(
    "sent", [sent for _, sent in FORGERIES], ids=[what for what, _ in FORGERIES]
)
@pytest.mark.parametrize(
    "limits", [ALLOWED, ServerLimits(origins=frozenset({ANY}))], ids=["one", "any"]
)
async def test_no_other_page_uses_the_session(
    stateful: RunningServer, sent: dict[str, str], limits: ServerLimits
) -> None:
    browser = await signed_in(stateful, Role.ADMIN)
    browser.app = console_of(stateful, limits)
    for method, path, body in (
        ("GET", SESSION, None),
        ("DELETE", SESSION, None),
        ("POST", SESSION, {"key": "sk-other"}),
        ("POST", "/v1/responses", HI),
        ("GET", "/v1/models", None),
    ):
        assert (await browser.send_request(method, path, body, **sent)).status in (401, 403), (
            method,
            path,
        )
    assert (await browser.send_request("GET", SESSION)).status == 200


@pytest.mark.parametrize("sent", [sent for what, sent in FORGERIES if "sec_fetch_site" in sent])
async def test_no_other_page_uses_that_no_key_exists(
    stateful: RunningServer, sent: dict[str, str]
) -> None:
    browser = Browser(console_of(stateful, ALLOWED))
    assert (await browser.send_request("DELETE", SESSION, **sent)).status == 403


ONE_SIGN = {
    "no header": {"antiphon_console": ""},
    "the site": {"sec_fetch_site": "cross-site", "origin": ""},
    "a site that shares a name": {"sec_fetch_site": "same-site", "origin": ""},
    "the origin, allowed for the API": {"sec_fetch_site": "", "origin": "https://app.example"},
    "the origin's port": {"sec_fetch_site": "", "origin": "http://localhost:3000"},
}
"""All that shows a request to be none of the console's."""


@pytest.mark.parametrize("sent", ONE_SIGN.values(), ids=ONE_SIGN)
async def test_one_sign_of_another_page_is_enough(
    stateful: RunningServer, sent: dict[str, str]
) -> None:
    """Of a request with a session, of one that begins or ends it, and with the session of an
    operator without keys.
    """
    app = console_of(stateful, ALLOWED)
    code = ConsoleSessions(stateful.parts.store, now)
    browser = Browser(app)
    assert (
        await browser.send_request("POST", SESSION, {"code": await code.issue_code()}, **sent)
    ).status == 403
    assert (await browser.send_request("DELETE", SESSION, **sent)).status == 403
    await browser.sign_in(code=await code.issue_code())
    browser.client = ELSEWHERE
    assert (await browser.send_request("GET", SESSION, **sent)).status == 403
    key, _ = await issued(stateful.parts.store, role=Role.READ)
    assert (await browser.send_request("POST", SESSION, {"key": key}, **sent)).status == 403
    await browser.sign_in(key=key)
    for path in (SESSION, "/v1/models"):
        assert (await browser.send_request("GET", path, **sent)).status in (401, 403)
        assert (await browser.send_request("GET", path)).status == 200


@pytest.mark.parametrize("sent", [sent for sign, sent in ONE_SIGN.items() if sign != "no header"])
async def test_without_any_key_another_page_reads_nothing(
    stateful: RunningServer, sent: dict[str, str]
) -> None:
    browser = Browser(console_of(stateful, ALLOWED), page={})
    for method, path in (("GET", SESSION), ("GET", "/admin/v1/keys"), ("POST", "/admin/v1/keys")):
        assert (await browser.send_request(method, path, **sent)).status == 403
    assert await stateful.parts.store.read(api_keys.every) == []


async def test_a_page_without_tls_is_another_page(stateful: RunningServer) -> None:
    browser = Browser(console_of(stateful), scheme="https", host="ai.example")
    key, _ = await issued(stateful.parts.store, role=Role.READ)
    await browser.sign_in(key=key)

    assert (await browser.send_request("GET", SESSION, origin="https://ai.example")).status == 200
    assert (await browser.send_request("GET", SESSION, origin="http://ai.example")).status == 403


async def test_the_session_uses_the_cache_as_its_key_does(stateful: RunningServer) -> None:
    key, _ = await issued(stateful.parts.store, role=Role.READ, caches=True)
    browser = Browser(console_of(stateful))
    await browser.sign_in(key=key)

    stated = [
        (await browser.send_request("POST", "/v1/responses", HI)).header("antiphon-cache")
        for _ in range(2)
    ]
    assert stated == ["miss", "hit"]


async def test_no_page_learns_that_it_may_send_the_header(stateful: RunningServer) -> None:
    browser = Browser(console_of(stateful))
    requests = {"origin": "https://evil.example", "access_control_request_method": "POST"}

    assert (await browser.send_request("OPTIONS", SESSION, **requests)).status == 403


async def test_the_session_opens_the_api_of_its_tenant(stateful: RunningServer) -> None:
    mine = await signed_in(stateful, tenant="acme")
    other = await signed_in(stateful, tenant="other")
    created = await mine.send_request("POST", "/v1/responses", HI)
    one = f"/v1/responses/{created.json['id']}"

    assert created.status == 200
    assert [(await caller.send_request("GET", one)).status for caller in (mine, other)] == [
        200,
        404,
    ]
    await stateful.parts.jobs.meter.settle()
    assert (await mine.send_request("GET", "/v1/usage")).json["data"][0]["requests"] == 1


async def test_the_session_is_subject_to_the_limits_of_its_key(stateful: RunningServer) -> None:
    key, _ = await issued(stateful.parts.store, role=Role.READ, requests_per_minute=1)
    browser = Browser(console_of(stateful))
    await browser.sign_in(key=key)

    assert [(await browser.send_request("POST", "/v1/responses", HI)).status for _ in range(2)] == [
        200,
        429,
    ]


async def test_an_operators_session_uses_the_api(stateful: RunningServer) -> None:
    await issued(stateful.parts.store)
    browser = await operator(stateful)

    assert (await browser.send_request("POST", "/v1/responses", HI)).status == 200


async def test_an_application_around_this_one_sets_no_role(stateful: RunningServer) -> None:
    inner = console_of(stateful)

    async def around(scope: Any, receive: Any, send: Any) -> None:
        await inner({**scope, "antiphon.tenant": "theirs"}, receive, send)

    answered = await Browser(around).send_request("GET", SESSION)
    assert (answered.status, answered.code) == (403, "not_allowed")


async def test_without_a_console_its_pages_do_not_exist(stateful: RunningServer) -> None:
    browser = await signed_in(stateful, Role.ADMIN)
    browser.app = console_of(stateful, has_console=False)
    key, _ = await issued(stateful.parts.store, role=Role.ADMIN)

    for path in (SESSION, "/console", "/console/", "/v1/models"):
        assert (await browser.send_request("GET", path)).status == 401
    for path in (SESSION, "/console", "/console/"):
        answered = await browser.send_request("GET", path, **bearing(key))
        assert (answered.status, answered.code) == (404, "unknown_url")


async def test_a_session_of_the_operator_reads_the_usage_of_all_tenants(
    stateful: RunningServer,
) -> None:
    refused = await (await signed_in(stateful)).send_request("GET", "/v1/usage?tenant=*")
    answered = await (await operator(stateful)).send_request("GET", "/v1/usage?tenant=*")

    assert (answered.status, refused.status) == (200, 403)


async def test_a_session_of_a_key_has_no_rights_in_a_store_that_lost_its_keys(
    stateful: RunningServer,
) -> None:
    browser = await signed_in(stateful, Role.ADMIN)
    chief = await operator(stateful)

    async def has_none() -> bool:
        return False

    replace_operation(stateful.parts.store, api_keys.any_at_all, has_none)
    stateful.parts.keys = KnownKeys(stateful.parts.store)  # a server that was started since
    browser.app = chief.app = console_of(stateful)
    browser.client = chief.client = ELSEWHERE

    assert (
        (await browser.send_request("GET", SESSION)).status,
        (await chief.send_request("GET", SESSION)).status,
    ) == (
        403,
        200,
    )
