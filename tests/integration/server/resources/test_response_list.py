"""`GET /v1/responses`: a tenant's responses as summaries, in pages, by filters."""

from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.operations import facts_page
from antiphon.storage.records.facts import FactsQuery
from antiphon.upstream.http import HttpBackend
from tests.store.facts import new_facts
from tests.support.changed_stores import replace_operation
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually


async def listed(server: RunningServer, query: str = "") -> dict[str, Any]:
    status, page = await server.get(f"/responses{query}")
    assert status == 200, page
    return page


async def test_a_response_is_listed_as_a_summary(stateful: RunningServer) -> None:
    created = await stateful.sdk.responses.create(
        model="m", input="What is it?", metadata={"team": "billing"}
    )
    page = await listed(stateful)

    (one,) = page["data"]
    assert {name: page[name] for name in page if name != "data"} == {
        "object": "list",
        "first_id": created.id,
        "last_id": created.id,
        "has_more": False,
    }
    assert abs(one.pop("created_at") - created.created_at) <= 1
    assert one.pop("completed_at") >= created.created_at
    times = [one.pop(name) for name in ("queue_ms", "duration_ms")]
    assert times == sorted(times) and one.pop("request_bytes") > 10
    assert one == {
        "id": created.id,
        "object": "response.summary",
        "status": "completed",
        "error_code": None,
        "error_message": None,
        "model": "m",
        "served_model": "m",
        "backend": "replay",
        "api_key_id": None,
        "previous_response_id": None,
        "conversation_id": None,
        "store": True,
        "stream": False,
        "background": False,
        "completion_window": None,
        "websocket": False,
        "cached": False,
        "tools": [],
        "calls": 1,
        "attempts": 1,
        "first_token_ms": None,
        "usage_is_estimated": False,
        "usage": {
            "input_tokens": 5,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 6,
        },
        "input": "What is it?",
        "output": created.output_text,
    }


async def test_an_unstored_response_is_listed_without_words(server: RunningServer) -> None:
    await server.sdk.responses.create(model="m", input="A secret", store=False)
    found = (await eventually(lambda: listed(server), lambda page: page["data"]))["data"]
    assert (found[0]["store"], found[0]["input"], found[0]["output"]) == (False, None, None)


async def test_pages_follow_each_other_in_both_directions(stateful: RunningServer) -> None:
    created = [(await stateful.sdk.responses.create(model="m", input=f"{i}")).id for i in range(5)]
    for order, ids in (("desc", created[::-1]), ("asc", created)):
        first = await listed(stateful, f"?limit=2&order={order}")
        assert ([one["id"] for one in first["data"]], first["has_more"]) == (ids[:2], True)
        rest = await listed(stateful, f"?order={order}&after={first['last_id']}")
        assert ([one["id"] for one in rest["data"]], rest["has_more"]) == (ids[2:], False)
        before = await listed(stateful, f"?order={order}&before={ids[1]}")
        assert [one["id"] for one in before["data"]] == ids[:1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ["Why?", "Which light house?"]),
        ("model:m", ["Why?", "Which light house?"]),
        ("status:failed", []),
        ('"LIGHT house"', ["Which light house?"]),
        ("metadata.team:billing status:completed", ["Which light house?"]),
        ("took:>1h", []),
        ("since:1h until:2100-01-01", ["Why?", "Which light house?"]),
        ("-light", ["Why?"]),
        ("metadata.team:billing OR why", ["Why?", "Which light house?"]),
        ("tenant:other", []),
        ("cost:>0", []),
        ("sort:slowest light", ["Which light house?"]),
    ],
)
async def test_filters_choose(stateful: RunningServer, line: str, expected: list[str]) -> None:
    await stateful.sdk.responses.create(
        model="m", input="Which light house?", metadata={"team": "billing"}
    )
    await stateful.sdk.responses.create(model="m", input="Why?")

    page = await listed(stateful, f"?q={quote(line)}")
    assert [one["input"] for one in page["data"]] == expected


async def test_the_request_id_of_a_reply_finds_its_response(stateful: RunningServer) -> None:
    replied = await stateful.sdk.responses.with_raw_response.create(model="m", input="Hi")
    created = replied.parse()
    for line in (replied.request_id, f"id:{replied.request_id}", created.id, created.output[0].id):
        page = await listed(stateful, f"?q={line}")
        assert [one["id"] for one in page["data"]] == [created.id], line


async def test_too_many_responses_are_not_sorted(server: RunningServer) -> None:
    facts = [new_facts(tenant="", began=number * 1_000) for number in range(1, 11)]
    await server.parts.store.write(stored_facts.put_new, facts)

    async def few(tenant: str, query: FactsQuery) -> Any:
        return await found(tenant, replace(query, most_read=6))

    found = replace_operation(server.parts.store, facts_page.page, few)
    status, body = await server.get("/responses?q=sort:slowest")
    error: Any = body["error"]
    assert (status, error["code"], error["param"]) == (400, "range_too_large", "q")
    assert "Narrow the range: add since:1970-01-01T00:00:05Z or a later time." in error["message"]
    page = await listed(server, "?q=sort:slowest%20since:1970-01-01T00:00:05Z")
    assert len(page["data"]) == 6


async def test_a_truncated_list_has_its_continuation(server: RunningServer) -> None:
    facts = [
        new_facts(tenant="", began=began, backend="b" if began == 1 else "a")
        for began in range(1, 11)
    ]
    await server.parts.store.write(stored_facts.put_new, facts)

    async def few(tenant: str, query: FactsQuery) -> Any:
        return await found(tenant, replace(query, most_read=6))

    found = replace_operation(server.parts.store, facts_page.page, few)
    page = await listed(server, "?q=backend:b")
    assert page == {
        "object": "list",
        "data": [],
        "first_id": None,
        "last_id": None,
        "has_more": True,
        "partial": True,
        "after": facts[4].id,
    }
    rest = await listed(server, f"?q=backend:b&after={page['after']}")
    assert ([one["id"] for one in rest["data"]], rest["has_more"]) == ([facts[0].id], False)


@pytest.mark.parametrize(
    ("query", "param", "part"),
    [
        ("?q=colour:red", "q", "Unknown filter 'colour'. The filters are: backend, background,"),
        ("?q=status:done", "q", "Invalid 'q': 'status:done' is not a valid filter"),
        ("?q=status:done", "q", "(values: queued, in_progress,"),
        ("?q=status:", "q", "Invalid 'q': 'status:' is not a valid filter."),
        (f"?q={'(' * 10_000}", "q", "The filter has 10,000 characters. At most 4,096 are allowed."),
        ("?after=resp_x", "after", "Invalid 'after': no response with id 'resp_x'."),
        ("?before=resp_x", "before", "Invalid 'before': no response with id 'resp_x'."),
        ("?limit=0", "limit", "limit"),
        ("?order=up", "order", "Supported values are"),
    ],
)
async def test_a_wrong_query_is_refused_by_name(
    server: RunningServer, query: str, param: str, part: str
) -> None:
    status, body = await server.get(f"/responses{query}")
    error: Any = body["error"]
    assert (status, error["param"]) == (400, param)
    assert part in error["message"]


async def test_without_facts_the_list_is_empty(backend: ReplayBackend) -> None:
    async with serve(HttpBackend("replay", backend.url), facts=False) as server:
        await server.sdk.responses.create(model="m", input="Hi")
        assert (await listed(server))["data"] == []
