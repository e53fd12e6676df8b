"""What a connection remembers of unstored responses, and when it forgets (specification section
8).
"""

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
from tests.support.server import RunningServer
from tests.support.socket import Talk, talk

ORPHAN = [{"type": "function_call_output", "call_id": "call_9", "output": "Sunny."}]


def stated(backend: ReplayBackend) -> list[str]:
    return [message["content"] for message in backend.requests[-1]["messages"]]


LARGE = [{"role": "user", "content": str(n) * 70_000} for n in range(3)]
MANY = [{"role": "user", "content": str(n)} for n in range(300)]


def threads_that_encode(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the threads in which items are encoded to be remembered."""
    names = set[str]()
    store_item = run.store_item

    def noted(*args: Any, **kwargs: Any) -> StoredItem:
        names.add(threading.current_thread().name.partition("_")[0])
        return store_item(*args, **kwargs)

    monkeypatch.setattr(run, "store_item", noted)
    return names


async def is_known(one: Talk, response_id: str, **parameters: object) -> bool:
    last = (
        await one.create(
            "Still there?", previous_response_id=response_id, store=False, **parameters
        )
    )[-1]
    assert (
        last["type"] == "response.completed"
        or last["error"]["code"] == "previous_response_not_found"
    )
    return bool(last["type"] == "response.completed")


async def test_an_unstored_response_can_be_followed_with_new_items_only(
    server: RunningServer, backend: ReplayBackend
):
    async with talk(server) as one:
        first = await one.created("One", store=False)
        second = await one.created("Two", store=False, previous_response_id=first["id"])
        await one.created("Three", store=False, previous_response_id=second["id"])

    assert stated(backend) == ["One", "You said: One ", "Two", "You said: Two ", "Three"]
    assert second["previous_response_id"] == first["id"]
    assert (await server.get(f"/responses/{second['id']}"))[0] == 404


async def test_calls_and_reasoning_are_remembered_with_their_seals(
    server: RunningServer, backend: ReplayBackend
):
    call = {"index": 0, "id": "call_1", "function": {"name": "look", "arguments": "{}"}}
    backend.script = lambda request: Answer(
        [sse(delta(reasoning_content="Hm."), delta(tool_calls=[call]), delta("tool_calls"))]
        if len(request["messages"]) == 1
        else [sse(delta(content="Well"), delta("stop"))]
    )
    tools = [
        {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
    ]
    output = [{"type": "function_call_output", "call_id": "call_1", "output": "A wall."}]
    async with talk(server) as one:
        first = await one.created("Look", store=False, tools=tools)
        second = await one.created(
            output, store=False, tools=tools, previous_response_id=first["id"]
        )

    _, answer, result = backend.requests[-1]["messages"]
    assert [item["type"] for item in first["output"]] == ["reasoning", "function_call"]
    assert (answer["tool_calls"][0]["id"], result["content"]) == ("call_1", "A wall.")
    assert second["status"] == "completed"


@pytest.mark.parametrize("provided", [LARGE, MANY], ids=["large items", "many items"])
@pytest.mark.parametrize("is_stored", [False, True], ids=["from the request", "from the store"])
async def test_large_data_is_remembered_in_a_thread(
    server: RunningServer,
    backend: ReplayBackend,
    monkeypatch: pytest.MonkeyPatch,
    provided: list[Any],
    is_stored: bool,
) -> None:
    if is_stored and provided is LARGE:
        monkeypatch.setattr(prefix, "LOG", 1)
    async with talk(server) as one:
        before = {"previous_response_id": (await one.created(provided))["id"]} if is_stored else {}
        threads = threads_that_encode(monkeypatch)
        stored = await one.created("Hi" if is_stored else provided, store=False, **before)
        assert threads == {"large-data"}
        await one.created("Go on", store=False, previous_response_id=stored["id"])
    texts = [item["content"] for item in provided]
    assert [text for text in stated(backend) if text in texts] == texts


async def test_small_data_is_remembered_without_a_thread(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = threads_that_encode(monkeypatch)
    async with talk(server) as one:
        await one.created(store=False)
    assert threads == {"MainThread"}


async def test_after_a_reconnect_it_is_not_found_and_the_new_socket_works(server: RunningServer):
    async with talk(server) as one:
        created = await one.created(store=False)
    async with talk(server) as another:
        error = await another.refusal(previous_response_id=created["id"], store=False)
        fresh = await another.created(store=False)

    assert error["code"] == "previous_response_not_found"
    assert error["message"] == f"Previous response with id '{created['id']}' not found."
    assert error["param"] == "previous_response_id"
    assert fresh["status"] == "completed"


async def test_a_stored_response_is_found_after_a_reconnect(server: RunningServer):
    async with talk(server) as one:
        created = await one.created()
    async with talk(server) as another:
        assert (await another.created("Two", previous_response_id=created["id"]))[
            "status"
        ] == "completed"


async def test_a_lane_remembers_its_newest_response_only(server: RunningServer):
    async with talk(server) as one:
        old = await one.created(store=False)
        new = await one.created(store=False)
        assert not await is_known(one, old["id"], stream_id="other")
        assert await is_known(one, new["id"], stream_id="other")


async def test_a_continuation_that_fails_takes_its_parent_with_it(server: RunningServer):
    async with talk(server) as one:
        created = await one.created(store=False)
        failed = await one.refusal(ORPHAN, previous_response_id=created["id"], store=False)
        assert failed["param"] == "input"
        assert not await is_known(one, created["id"])


async def test_so_does_one_that_fails_in_mid_stream(server: RunningServer, backend: ReplayBackend):
    script = backend.script
    async with talk(server) as one:
        created = await one.created(store=False)
        backend.script = lambda request: Answer([sse(delta(content="On"), done=False)], cut=True)
        await one.send_request("Two", previous_response_id=created["id"], store=False)
        await one.until("response.failed")
        backend.script = script
        assert not await is_known(one, created["id"])


async def test_a_request_that_is_wrong_in_itself_does_so_too(server: RunningServer):
    async with talk(server) as one:
        created = await one.created(store=False)
        await one.refusal(7, previous_response_id=created["id"], store=False)
        assert not await is_known(one, created["id"])


async def test_one_of_another_lane_leaves_it_where_it_is(server: RunningServer):
    async with talk(server) as one:
        created = await one.created(store=False, stream_id="a")
        await one.refusal(ORPHAN, previous_response_id=created["id"], store=False, stream_id="b")
        assert await is_known(one, created["id"], stream_id="b")
        assert await is_known(one, created["id"], stream_id="a")


async def test_a_failure_that_followed_nothing_takes_nothing(server: RunningServer):
    async with talk(server) as one:
        created = await one.created(store=False)
        await one.refusal(ORPHAN, store=False)
        assert await is_known(one, created["id"])


async def test_a_stored_parent_survives_a_failure_in_the_store(server: RunningServer):
    async with talk(server) as one:
        created = await one.created()
        await one.refusal(ORPHAN, previous_response_id=created["id"])
        assert await is_known(one, created["id"])


async def test_a_stored_response_that_follows_an_unstored_one_stands_on_its_own(
    server: RunningServer, backend: ReplayBackend
):
    async with talk(server) as one:
        first = await one.created("One", store=False)
        second = await one.created("Two", previous_response_id=first["id"])
    async with talk(server) as another:
        await another.created("Three", previous_response_id=second["id"])

    assert stated(backend) == ["One", "You said: One ", "Two", "You said: Two ", "Three"]
    _, stored = await server.get(f"/responses/{second['id']}")
    assert stored["previous_response_id"] == first["id"]


async def test_a_conversation_goes_on_over_a_socket(server: RunningServer, backend: ReplayBackend):
    _, conversation = await server.post("/conversations", json={})
    async with talk(server) as one:
        for words in ("One", "Two"):
            await one.created(words, conversation=conversation["id"])
    assert stated(backend) == ["One", "You said: One ", "Two"]


async def test_one_tenant_does_not_follow_what_another_stored(server: RunningServer, monkeypatch):
    async with talk(server) as one:
        created = await one.created()
    app = server.host.config.loaded_app

    async def of_another_tenant(scope, receive, send):
        await app({**scope, "antiphon.tenant": "another"}, receive, send)

    monkeypatch.setattr(server.host.config, "loaded_app", of_another_tenant)
    async with talk(server) as another:
        error = await another.refusal(previous_response_id=created["id"])
    assert error["code"] == "previous_response_not_found"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_what_stopped_short_can_be_followed(
    server: RunningServer, backend: ReplayBackend, reason: str
):
    script = backend.script
    backend.script = lambda request: Answer([sse(delta(content="On"), delta(reason))])
    async with talk(server) as one:
        created = await one.created(store=False)
        backend.script = script
        assert created["status"] == "incomplete"
        assert await is_known(one, created["id"])


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
    assert account.retained == 0


def test_a_lane_with_a_stored_newest_response_does_not_remember_an_older_one() -> None:
    recall = Recall(Account(Memory(1000), "a", 100))
    recall.advance(None, "resp_1", items(10))
    recall.advance(None, "resp_2", None)
    assert recall.find("resp_1") is None
