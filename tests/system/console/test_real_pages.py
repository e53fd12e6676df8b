"""The pages of the real server: hostile content, two tenants, accessibility, widths, and the
keyboard alone.
"""

import json
from typing import Any

import pytest
from aiohttp import FormData

from antiphon.storage.records.tenants import Role
from tests.support.browser import needs_browser
from tests.support.console.real import RealConsole
from tests.support.replay import JSON, Answer, completion, delta, sse, text
from tests.support.tools import MCP, output
from tests.system.console.test_hostile import CORPUS

pytestmark = [needs_browser, pytest.mark.timeout(120)]

LONG = "y" * 1_000_000
"""One line of 1 MB."""

PAGES = (
    "",
    "play",
    "files",
    "files/stores",
    "conversations",
    "backends",
    "usage",
    "webhooks",
    "keys",
    "conformance",
)


def hostile_answers(words: str) -> Any:
    """Return a script: a call of a tool with hostile arguments, then a hostile text."""
    arguments = json.dumps({"__proto__": {"a": words}, "constructor": words, "q": words})
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": "dice__roll", "arguments": arguments},
    }
    content = [delta(content=words), delta("stop")]
    return lambda request: Answer(
        [sse(*content)]
        if any(message["role"] == "tool" for message in request["messages"])
        else [sse(delta(tool_calls=[call]), delta("tool_calls"))]
    )


async def test_hostile_content_does_nothing(real: RealConsole) -> None:
    tools = [{**MCP, "server_description": "".join(CORPUS)[:500]}]
    ids = []
    real.keys["acme"], _ = await real.key(name=CORPUS[0] + CORPUS[3])
    for words in (*CORPUS[:-1], LONG):
        real.a.script = hostile_answers(words)
        real.tools.answers = {"roll": lambda _, words=words: output(words)}  # type: ignore[misc]
        metadata = {"__proto__": words[:500], "team": words[:500]}
        created = await real.create(
            input=words, instructions=words[:9_000], metadata=metadata, tools=tools
        )
        assert created["status"] == "completed", created
        ids.append(created["id"])
    real.a.script = lambda _: Answer(
        [json.dumps({"error": {"message": CORPUS[1]}}).encode()], JSON, 400
    )
    failed = await real.create(input="Fail")
    assert "error" in failed
    async with real.server.http.post(
        f"{real.server.url}/conversations",
        json={"metadata": {"t": CORPUS[1]}},
        headers=await real.headers(),
    ) as reply:
        conversation = (await reply.json())["id"]
    await real.sign_in()
    for path in (
        *(f"r/{id_}" for id_ in ids),
        f"conversations/{conversation}",
        *PAGES,
        "?q=%3Cscript%3E:x",
        "%3Csvg%3E",
    ):
        await real.open(path)
        assert await real.page.evaluate("window.harm") is None
        built = (
            "document.querySelectorAll('main script, main style, main iframe, main img, main "
            "a[href^=javascript]')"
        )
        assert await real.page.evaluate(f"{built}.length") == 0
    real.check("400")


async def test_a_reader_never_receives_content_of_another_tenant(real: RealConsole) -> None:
    ids: dict[str, list[str]] = {}
    for tenant in ("acme", "other"):
        mark = f"ca7ary-{tenant}"
        headers = await real.headers(tenant)
        conversation = await post(real, "/v1/conversations", {"metadata": {"mark": mark}}, headers)
        first = await real.create(
            tenant, input=mark, metadata={"mark": mark}, conversation=conversation["id"]
        )
        second = await real.create(tenant, input=mark, background=True, stream=False)
        hook = {
            "name": mark,
            "url": f"https://{mark}.example/",
            "event_types": ["response.completed"],
        }
        endpoint = await post(real, "/v1/webhook_endpoints", hook, headers)
        form = FormData({"purpose": "assistants"})
        form.add_field("file", mark.encode(), filename=f"{mark}.txt")
        async with real.server.http.post(
            f"{real.server.url}/files", data=form, headers=headers
        ) as reply:
            file = (await reply.json())["id"]
        store = await post(real, "/v1/vector_stores", {"name": mark, "file_ids": [file]}, headers)
        ids[tenant] = [
            first["id"],
            second["id"],
            conversation["id"],
            endpoint["id"],
            file,
            store["id"],
        ]
    await real.sign_in(Role.READ, "acme")
    await real.page.see("ca7ary-acme")
    for path in (
        *PAGES,
        f"r/{ids['acme'][0]}",
        f"r/{ids['other'][0]}",
        f"conversations/{ids['other'][2]}",
        f"files/{ids['acme'][5]}",
        *(f"files/{ids['other'][5]}", f"files/{ids['other'][5]}?tenant=other"),
        "?q=ca7ary",
    ):
        await real.open(path)
        assert "ca7ary-other" not in await real.page.evaluate(
            "document.documentElement.outerHTML"
        ), path
    reached = 0
    for path in paths_of(ids["other"]):
        status, body = await fetch(real, path)
        assert "ca7ary-other" not in body, path
        reached += "ca7ary-acme" in body or status in (400, 403, 404)
    assert reached > 15
    real.check("400", "403", "404")


def paths_of(ids: list[str]) -> list[str]:
    """Return what a reader may try: all lists, and everything of these objects of another
    tenant.
    """
    response, background, conversation, endpoint, file, store = ids
    lists = (
        "responses",
        "reports",
        "reports/matrix",
        "responses?q=ca7ary",
        "conversations",
        "keys",
        "webhook_deliveries",
        "backends",
        *("files", "vector_stores", f"files?after={file}", f"vector_stores?after={store}"),
        *(
            f"vector_stores/{store}{rest}"
            for rest in ("", "/files", "?tenant=other", "/files?tenant=other")
        ),
    )
    figures = [f"/admin/v1/figures?by={by}" for by in ("model", "key", "tenant", "backend")]
    parts = ("", "/body", "/input_items", "/request", "/calls", "/events")
    return [
        *(f"/admin/v1/{name}" for name in lists),
        *(
            f"/admin/v1/{name}?tenant=other"
            for name in ("responses", "conversations", "keys", "webhook_deliveries")
        ),
        *(f"/admin/v1/{name}?tenant=other" for name in ("files", "vector_stores")),
        *("/v1/files", f"/v1/files/{file}", f"/v1/files/{file}/content", "/v1/vector_stores"),
        *(f"/v1/vector_stores/{store}{rest}" for rest in ("", "/files", f"/files/{file}/content")),
        *figures,
        *(f"/admin/v1/responses/{one}{part}" for one in (response, background) for part in parts),
        *(f"/admin/v1/responses?after={one}" for one in (response, background)),
        *("/v1/responses", f"/v1/responses?after={response}", f"/v1/responses/{response}"),
        *(f"/v1/responses/{response}/input_items", f"/v1/conversations/{conversation}"),
        *(
            f"/v1/conversations/{conversation}/items",
            "/v1/webhook_endpoints",
            f"/v1/webhook_endpoints/{endpoint}",
        ),
        *("/v1/usage?group_by=key", "/v1/usage?group_by=tenant&tenant=*"),
    ]


async def test_an_administrator_lists_the_conversations_of_one_tenant(real: RealConsole) -> None:
    for tenant in ("acme", "acme", "other"):
        await post(real, "/v1/conversations", {}, await real.headers(tenant))
    await real.sign_in()
    lines = "document.querySelectorAll('.conversation-line').length"
    await real.open("conversations", shows="other")
    assert await real.page.evaluate(lines) == 3
    await real.click("[title='Conversations of acme']")
    await real.page.wait_for(f"{lines} === 2")
    assert await real.page.evaluate("location.search") == "?tenant=acme"
    await real.choose("Show all tenants")
    await real.page.wait_for(f"{lines} === 3")
    real.check()


async def test_the_real_pages_are_accessible_and_never_scroll_sideways(real: RealConsole) -> None:
    created = await used(real)
    await real.sign_in()
    for path in (*PAGES, f"r/{created}"):
        await real.open(path)
        for width in (320, 390, 1440):
            await real.page.resize(width)
            assert await real.fits(), (path, width)
        for scheme in ("light", "dark"):
            await real.page.prefer(scheme)
            assert await real.findings() == [], (path, scheme)
    real.check()


async def test_the_keyboard_alone_finds_opens_and_leaves_a_response(real: RealConsole) -> None:
    await used(real)
    await real.sign_in()
    await real.page.see("A lighthouse")
    await real.page.press("/")
    await real.page.type("lighthouse")
    await real.page.press("Enter")
    await real.page.wait_for("document.querySelectorAll('tbody tr').length === 1")
    await real.page.press("j")
    await real.page.press("Enter")
    await real.page.see("Timeline")
    await real.page.press("Escape")
    await real.page.wait_for("location.search === '?q=lighthouse'")
    await real.page.press("g")
    await real.page.press("p")
    await real.page.see("Instructions")
    real.check()


async def used(real: RealConsole) -> str:
    """Use the server in several ways; return the ID of a response with a parent."""
    headers = await real.headers()
    conversation = await post(real, "/v1/conversations", {"metadata": {"topic": "docs"}}, headers)
    await real.create(input="A lighthouse", conversation=conversation["id"])
    await real.create(input="Not kept", store=False)
    real.a.script = lambda request: (
        Answer([text("Well.")]) if request.get("stream") else Answer([completion()], JSON)
    )
    first = await real.create(input="First", background=True)
    hook = {
        "name": "billing",
        "url": "https://hooks.example/",
        "event_types": ["response.completed"],
    }
    await post(real, "/v1/webhook_endpoints", hook, headers)
    created = await real.create(input="Then", instructions="Be brief.")
    following = await real.create(input="And then", previous_response_id=created["id"])
    assert first["status"] == "queued"
    id_: str = following["id"]
    return id_


async def post(
    real: RealConsole, path: str, body: dict[str, Any], headers: dict[str, str]
) -> dict[str, Any]:
    async with real.server.http.post(
        real.server.url.removesuffix("/v1") + path, json=body, headers=headers
    ) as reply:
        assert reply.status == 200, await reply.text()
        created: dict[str, Any] = await reply.json()
        return created


async def fetch(real: RealConsole, path: str) -> tuple[int, str]:
    """Return the status and the body of a request that the page sends with its cookie."""
    script = (
        f"fetch({path!r}, {{headers: {{'antiphon-console': '1'}}}}).then(async r => "
        "[r.status, await r.text()])"
    )
    status, body = await real.page.evaluate(script)
    return status, body
