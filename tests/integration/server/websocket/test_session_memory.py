"""What a connection remembers of unstored responses, and when it forgets (specification section 8)."""

import json
import threading
from typing import Any

import pytest

from antiphon.runs import run
from antiphon.server.websocket.session_memory import Recall
from antiphon.sharing.memory import Account, Memory
from antiphon.storage.records.responses import StoredItem
from antiphon.translation.to_chat_completions import prefix
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.server import Served
from tests.support.socket import Talk, talk

ORPHAN = [{"type": "function_call_output", "call_id": "call_9", "output": "Sunny."}]


def said(backend: ReplayBackend) -> list[str]:
    return [message["content"] for message in backend.requests[-1]["messages"]]


LARGE = [{"role": "user", "content": str(n) * 70_000} for n in range(3)]
MANY = [{"role": "user", "content": str(n)} for n in range(300)]


def threads_that_encode(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the threads in which items are encoded to be remembered."""
    names, store_item = set[str](), run.store_item

    def noted(*args: Any, **kwargs: Any) -> StoredItem:
        names.add(threading.current_thread().name.partition("_")[0])
        return store_item(*args, **kwargs)

    monkeypatch.setattr(run, "store_item", noted)
    return names


async def is_known(one: Talk, response_id: str, **parameters: object) -> bool:
    last = (await one.create("Still there?", previous_response_id=response_id, store=False, **parameters))[-1]
    assert last["type"] == "response.completed" or last["error"]["code"] == "previous_response_not_found"
    return bool(last["type"] == "response.completed")


async def test_an_unstored_response_can_be_followed_with_new_items_only(served: Served, backend: ReplayBackend):
    async with talk(served) as one:
        first = await one.made("One", store=False)
        second = await one.made("Two", store=False, previous_response_id=first["id"])
        await one.made("Three", store=False, previous_response_id=second["id"])

    assert said(backend) == ["One", "You said: One ", "Two", "You said: Two ", "Three"]
    assert second["previous_response_id"] == first["id"]
    assert (await served.get(f"/responses/{second['id']}"))[0] == 404


async def test_calls_and_reasoning_are_remembered_with_their_seals(served: Served, backend: ReplayBackend):
    call = {"index": 0, "id": "call_1", "function": {"name": "look", "arguments": "{}"}}
    backend.script = lambda request: Answer(
        [sse(delta(reasoning_content="Hm."), delta(tool_calls=[call]), delta("tool_calls"))]
        if len(request["messages"]) == 1
        else [sse(delta(content="Well"), delta("stop"))]
    )
    tools = [{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}]
    output = [{"type": "function_call_output", "call_id": "call_1", "output": "A wall."}]
    async with talk(served) as one:
        first = await one.made("Look", store=False, tools=tools)
        second = await one.made(output, store=False, tools=tools, previous_response_id=first["id"])

    _, answer, result = backend.requests[-1]["messages"]
    assert [item["type"] for item in first["output"]] == ["reasoning", "function_call"]
    assert (answer["tool_calls"][0]["id"], result["content"]) == ("call_1", "A wall.")
    assert second["status"] == "completed"


@pytest.mark.parametrize("given", [LARGE, MANY], ids=["large items", "many items"])
@pytest.mark.parametrize("is_stored", [False, True], ids=["from the request", "from the store"])
async def test_large_data_is_remembered_in_a_thread(
    served: Served, backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch, given: list[Any], is_stored: bool
) -> None:
    if is_stored and given is LARGE:
        monkeypatch.setattr(prefix, "MUCH", 64 * 1024)
    async with talk(served) as one:
        before = {"previous_response_id": (await one.made(given))["id"]} if is_stored else {}
        threads = threads_that_encode(monkeypatch)
        kept = await one.made("Hi" if is_stored else given, store=False, **before)
        assert threads == {"large-data"}
        await one.made("Go on", store=False, previous_response_id=kept["id"])
    texts = [item["content"] for item in given]
    assert [text for text in said(backend) if text in texts] == texts


async def test_small_data_is_remembered_without_a_thread(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = threads_that_encode(monkeypatch)
    async with talk(served) as one:
        await one.made(store=False)
    assert threads == {"MainThread"}


async def test_after_a_reconnect_it_is_not_found_and_the_new_socket_works(served: Served):
    async with talk(served) as one:
        made = await one.made(store=False)
    async with talk(served) as another:
        error = await another.refusal(previous_response_id=made["id"], store=False)
        fresh = await another.made(store=False)

    assert error["code"] == "previous_response_not_found"
    assert error["message"] == f"Previous response with id '{made['id']}' not found."
    assert error["param"] == "previous_response_id"
    assert fresh["status"] == "completed"


async def test_a_stored_response_is_found_after_a_reconnect(served: Served):
    async with talk(served) as one:
        made = await one.made()
    async with talk(served) as another:
        assert (await another.made("Two", previous_response_id=made["id"]))["status"] == "completed"


async def test_a_lane_remembers_its_newest_response_only(served: Served):
    async with talk(served) as one:
        old, new = await one.made(store=False), await one.made(store=False)
        assert not await is_known(one, old["id"], stream_id="other")
        assert await is_known(one, new["id"], stream_id="other")


async def test_a_continuation_that_fails_takes_its_parent_with_it(served: Served):
    async with talk(served) as one:
        made = await one.made(store=False)
        failed = await one.refusal(ORPHAN, previous_response_id=made["id"], store=False)
        assert failed["param"] == "input"
        assert not await is_known(one, made["id"])


async def test_so_does_one_that_fails_in_mid_stream(served: Served, backend: ReplayBackend):
    script = backend.script
    async with talk(served) as one:
        made = await one.made(store=False)
        backend.script = lambda request: Answer([sse(delta(content="On"), done=False)], cut=True)
        await one.ask("Two", previous_response_id=made["id"], store=False)
        await one.until("response.failed")
        backend.script = script
        assert not await is_known(one, made["id"])


async def test_a_request_that_is_wrong_in_itself_does_so_too(served: Served):
    async with talk(served) as one:
        made = await one.made(store=False)
        await one.refusal(7, previous_response_id=made["id"], store=False)
        assert not await is_known(one, made["id"])


async def test_one_of_another_lane_leaves_it_where_it_is(served: Served):
    async with talk(served) as one:
        made = await one.made(store=False, stream_id="a")
        await one.refusal(ORPHAN, previous_response_id=made["id"], store=False, stream_id="b")
        assert await is_known(one, made["id"], stream_id="b")
        assert await is_known(one, made["id"], stream_id="a")


async def test_a_failure_that_followed_nothing_takes_nothing(served: Served):
    async with talk(served) as one:
        made = await one.made(store=False)
        await one.refusal(ORPHAN, store=False)
        assert await is_known(one, made["id"])


async def test_a_stored_parent_survives_a_failure_in_the_store(served: Served):
    async with talk(served) as one:
        made = await one.made()
        await one.refusal(ORPHAN, previous_response_id=made["id"])
        assert await is_known(one, made["id"])


async def test_a_stored_response_that_follows_an_unstored_one_stands_on_its_own(served: Served, backend: ReplayBackend):
    async with talk(served) as one:
        first = await one.made("One", store=False)
        second = await one.made("Two", previous_response_id=first["id"])
    async with talk(served) as another:
        await another.made("Three", previous_response_id=second["id"])

    assert said(backend) == ["One", "You said: One ", "Two", "You said: Two ", "Three"]
    _, stored = await served.get(f"/responses/{second['id']}")
    assert stored["previous_response_id"] == first["id"]


async def test_a_conversation_goes_on_over_a_socket(served: Served, backend: ReplayBackend):
    _, conversation = await served.post("/conversations", json={})
    async with talk(served) as one:
        for words in ("One", "Two"):
            await one.made(words, conversation=conversation["id"])
    assert said(backend) == ["One", "You said: One ", "Two"]


async def test_one_tenant_does_not_follow_what_another_stored(served: Served, monkeypatch):
    async with talk(served) as one:
        made = await one.made()
    app = served.host.config.loaded_app

    async def of_another_tenant(scope, receive, send):
        await app({**scope, "antiphon.tenant": "another"}, receive, send)

    monkeypatch.setattr(served.host.config, "loaded_app", of_another_tenant)
    async with talk(served) as another:
        error = await another.refusal(previous_response_id=made["id"])
    assert error["code"] == "previous_response_not_found"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_what_stopped_short_can_be_followed(served: Served, backend: ReplayBackend, reason: str):
    script = backend.script
    backend.script = lambda request: Answer([sse(delta(content="On"), delta(reason))])
    async with talk(served) as one:
        made = await one.made(store=False)
        backend.script = script
        assert made["status"] == "incomplete"
        assert await is_known(one, made["id"])


def items(size: int) -> list[StoredItem]:
    return [StoredItem("msg_1", json.dumps("x" * (size - 2)).encode(), None)]


def test_what_is_too_much_to_remember_goes_the_oldest_first() -> None:
    account = Account(Memory(1000), "a", 100)
    recall = Recall(account)
    recall.advance("a", "resp_1", items(60))
    recall.advance("b", "resp_2", items(30))
    recall.advance("c", "resp_3", items(30))
    assert [bool(recall.find(f"resp_{number}")) for number in (1, 2, 3)] == [False, True, True]
    recall.advance("d", "resp_4", items(200))
    assert [bool(recall.find(f"resp_{number}")) for number in (2, 3, 4)] == [False, False, False]
    assert account.held == 0


def test_a_lane_whose_newest_response_is_stored_remembers_no_older_one() -> None:
    recall = Recall(Account(Memory(1000), "a", 100))
    recall.advance(None, "resp_1", items(10))
    recall.advance(None, "resp_2", None)
    assert recall.find("resp_1") is None
