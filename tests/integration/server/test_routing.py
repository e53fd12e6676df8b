"""Several backends behind one server, over real TCP: who is asked, who is asked instead, and what
the client sees.
"""

import asyncio
import re
from contextlib import suppress
from typing import Any

import aiohttp
import openai
import pytest

from antiphon.upstream.health import MOST_FAILURES
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.native import answering, message
from tests.support.pair import BODY, CHAT, Script, cut_before_the_first_token, error, pair, stating
from tests.support.replay import JSON, Answer, completion, delta, sse, text
from tests.support.socket import talk, text_of
from tests.support.waiting import ended, until

APIS = ("responses", "chat")

QUICK = {"first_byte_timeout": 0.3, "idle_timeout": 0.3}

REFUSALS: dict[str, Script] = {
    **{str(status): error(status) for status in (500, 502, 503, 504, 529, 429, 402, 401)},
    "404": error(404, "The model 'm' is not found.", "model_not_found"),
    "500 that breaks off": lambda _: Answer([b'{"error":'], JSON, 500, cut=True),
    "reset": lambda _: Answer([], cut=True),
}
"""Failures that can be told without reading the answer."""

SILENCES: dict[str, Script] = {
    "reset after a comment": cut_before_the_first_token,
    "html": lambda _: Answer([b"<html>Bad gateway</html>"], "text/html"),
    "error in stream": lambda _: Answer([b'data: {"error": {"message": "CUDA"}}\n\n']),
    "empty": lambda _: Answer([]),
}
"""Failures in the answer, before its first token."""


@pytest.mark.parametrize(
    "fails", [*REFUSALS.values(), *SILENCES.values()], ids=[*REFUSALS, *SILENCES]
)
@pytest.mark.parametrize("stream", [False, True])
async def test_where_one_fails_before_its_first_token_another_answers(
    fails: Script, stream: bool
) -> None:
    async with pair(fails, stating("Hello")) as two:
        if stream:
            response = await two.server.sdk.responses.create(model="m", input="Hi", stream=True)
            last = [event async for event in response][-1]
            assert last.type == "response.completed"
            assert last.response.output_text == "Hello"
        else:
            assert await two.send_request() == ("Hello", "b")
        assert (len(two.a.requests), len(two.b.requests)) == (1, 1)


@pytest.mark.parametrize("fails", REFUSALS.values(), ids=REFUSALS)
async def test_chat_completions_fail_over_too(fails: Script) -> None:
    async with pair(fails, stating("Hello")) as two:
        async with two.server.http.post(
            two.server.url + "/chat/completions", json=CHAT
        ) as response:
            body = await response.json()
        assert (response.status, response.headers["antiphon-backend"]) == (200, "b")
        assert body["choices"][0]["message"]["content"] == "Hello"


async def test_background_responses_fail_over_too() -> None:
    async with pair(error(500), stating("Hello")) as two:
        queued = await two.server.sdk.responses.create(model="m", input="Hi", background=True)
        response = await ended(two.server.sdk, queued.id)
        assert response.output_text == "Hello"


async def test_background_responses_wait_until_a_backend_that_limits_its_rate_rests_no_longer() -> (
    None
):
    async with pair(error(429, retry_after_ms="300"), stating("b"), models=("m", "n")) as two:
        await two.server.post("/responses", json=BODY)
        two.a.script = stating("a")
        queued = await two.server.sdk.responses.create(model="m", input="Hi", background=True)
        response = await ended(two.server.sdk, queued.id)

        assert response.output_text == "a"


async def test_background_responses_fail_without_calling_a_backend_with_a_long_pause() -> None:
    async with pair(error(402), stating("b"), models=("m", "n")) as two:
        await two.server.post("/responses", json=BODY)
        queued = await two.server.sdk.responses.create(model="m", input="Hi", background=True)
        response = await ended(two.server.sdk, queued.id)

        assert (response.status, response.error and response.error.code) == (
            "failed",
            "insufficient_quota",
        )
        assert len(two.a.requests) == 1


async def test_responses_over_a_websocket_fail_over_too() -> None:
    async with pair(error(500), stating("Hello")) as two, talk(two.server) as one:
        assert text_of(await one.created()) == "Hello"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("first", ["responses", "chat"])
async def test_a_responses_backend_and_a_chat_backend_fail_over_to_each_other(
    first: str, stream: bool
) -> None:
    native = answering([message("Hello")])
    shares = {"a" if first == "responses" else "b": BackendOptions(api="responses")}
    scripts = (error(500), stating("Hello")) if first == "responses" else (error(500), native)
    async with pair(*scripts, shares=shares) as two:
        two.a.speaks_responses = two.b.speaks_responses = True
        async with two.server.http.post(
            two.server.url + "/responses", json={**BODY, "stream": stream}
        ) as response:
            seen = await response.text()

        assert response.status == 200, seen
        assert "Hello" in seen
        assert '"status":"completed"' in seen
        assert [name in two.a.requests[0] for name in ("input", "messages")] == [
            first == name for name in APIS
        ]
        assert [name in two.b.requests[0] for name in ("input", "messages")] == [
            first != name for name in APIS
        ]


async def test_the_clients_own_mistake_is_reported_by_the_first_backend_called() -> None:
    async with pair(error(400, "'temperature' is too hot."), stating("Hello")) as two:
        status, body = await two.server.post("/responses", json=BODY)

        assert (status, body["error"]["message"]) == (400, "'temperature' is too hot.")  # type: ignore[index]
        assert two.b.requests == []


async def test_a_backend_that_breaks_off_midway_ends_in_response_failed_without_failover() -> None:
    half = Answer([text("Half ", "of it")[:200]], cut=True)
    async with pair(lambda _: half, stating("Hello")) as two:
        response = await two.server.sdk.responses.create(model="m", input="Hi", stream=True)
        first = await anext(response.__aiter__())
        with suppress(openai.APIError):
            async for _ in response:
                pass
        stored = await two.server.sdk.responses.retrieve(first.response.id)  # type: ignore[union-attr]

        assert stored.status == "failed"
        assert stored.output_text.startswith("Half")
        assert two.b.requests == []


async def test_one_answer_or_one_clear_error_and_never_an_address_or_a_key() -> None:
    leaky = error(500, "http://10.0.0.7:9000/v1 failed with sk-secret-backend-key")
    async with pair(leaky, leaky) as two:
        async with two.server.http.post(two.server.url + "/responses", json=BODY) as response:
            seen = f"{await response.text()} {dict(response.headers)}"
        assert response.status == 502
        assert len(two.a.requests) + len(two.b.requests) == 3
        for secret in ("10.0.0.7", "sk-secret", "127.0.0.1", "failed with sk"):
            assert secret not in seen


async def test_a_backend_is_not_called_again_after_five_failures() -> None:
    async with pair(error(500), stating("Hello")) as two:
        for _ in range(50):
            assert (await two.send_request())[0] == "Hello"

        assert len(two.a.requests) == MOST_FAILURES


async def test_the_last_backend_is_called_however_often_it_fails() -> None:
    async with pair(error(500), stating("Hello"), models=("m", "other")) as two:
        for _ in range(2 * MOST_FAILURES):
            status, _ = await two.server.post("/responses", json=BODY)
            assert status == 502
        two.a.script = stating("Back")

        assert await two.send_request() == ("Back", "a")


async def test_a_chain_stays_with_the_backend_that_began_it() -> None:
    async with pair(stating("a"), stating("b")) as two:
        for chain in range(6):
            response = await two.server.sdk.responses.create(model="m", input="Hi")
            for _ in range(4):
                before = response
                response = await two.server.sdk.responses.create(
                    model="m", input="And?", previous_response_id=before.id
                )
                assert response.output_text == before.output_text, chain

        assert two.a.requests and two.b.requests


async def test_a_conversation_and_a_cache_key_stay_with_their_backend() -> None:
    async with pair(stating("a"), stating("b")) as two:
        conversation = await two.server.sdk.conversations.create()
        for more in ({"conversation": conversation.id}, {"prompt_cache_key": "key"}):
            stated = {(await two.send_request(**more))[0] for _ in range(5)}
            assert len(stated) == 1


async def test_requests_are_spread_by_weight() -> None:
    shares = {"a": BackendOptions(weight=3.0), "b": BackendOptions(weight=1.0)}
    async with pair(stating("a"), stating("b"), shares=shares) as two:
        for _ in range(20):
            await two.send_request()

        assert (len(two.a.requests), len(two.b.requests)) == (15, 5)


async def test_an_alias_is_what_clients_see_and_not_what_the_backend_is_sent() -> None:
    shares = {"a": BackendOptions(aliases={"big": "m-70b"})}
    async with pair(stating("a"), stating("b"), models=("m-70b", "m"), shares=shares) as two:
        _, listed = await two.server.get("/models")
        response = await two.server.sdk.responses.create(model="big", input="Hi")
        async with two.server.http.post(
            two.server.url + "/chat/completions", json={**CHAT, "model": "big"}
        ) as chat:
            assert chat.status == 200

        assert response.model == "big"
        assert [request["model"] for request in two.a.requests] == ["m-70b", "m-70b"]
        assert {model["id"] for model in listed["data"]} == {"m-70b", "big", "m"}  # type: ignore[attr-defined]


async def test_models_of_all_backends_are_listed_once() -> None:
    async with pair(stating("a"), stating("b")) as two:
        _, listed = await two.server.get("/models")

        assert [model["id"] for model in listed["data"]] == ["m"]  # type: ignore[attr-defined]


async def test_a_star_matches_all_unnamed_models() -> None:
    shares = {"b": BackendOptions(models=frozenset({"*"}))}
    async with pair(stating("a"), stating("b"), shares=shares, models=("m", "n")) as two:
        assert await two.send_request() == ("a", "a")
        assert await two.send_request(model="made-up") == ("b", "b")
        assert two.b.requests[-1]["model"] == "made-up"


async def test_a_fallback_model_is_reported_as_the_one_that_answered() -> None:
    async with pair(error(503), stating("b"), models=("m", "n"), fallback={"m": ["n"]}) as two:
        response = await two.server.sdk.responses.with_raw_response.create(model="m", input="Hi")
        requested = await two.server.sdk.responses.create(model="m", input="Hi", stream=True)
        events = [event async for event in requested]

        assert (response.parse().model, response.headers["antiphon-backend"]) == ("n", "b")
        assert (await two.server.sdk.responses.retrieve(response.parse().id)).model == "n"
        assert events[-1].response.model == "n"  # type: ignore[union-attr]
        assert {request["model"] for request in two.b.requests} == {"n"}


async def test_a_full_queue_refuses_at_once_with_a_wait_and_frees_itself() -> None:
    go = asyncio.Event()
    shares = {name: BackendOptions(concurrency=1, queue=1) for name in "ab"}

    def slow(_: dict[str, Any]) -> Answer:
        return Answer([], JSON, wait=go, rest=[completion("Late")])

    async with pair(slow, slow, shares=shares) as two:
        taken = [asyncio.create_task(two.send_request()) for _ in range(4)]
        await until(
            lambda: (
                sum(
                    supported.slots.in_use + supported.slots.waiting
                    for supported in two.server.parts.models.backends
                )
                >= 4
            )
        )
        async with two.server.http.post(two.server.url + "/responses", json=BODY) as response:
            body = await response.json()
        async with two.server.http.post(two.server.url + "/chat/completions", json=CHAT) as chat:
            assert chat.status == 503
        go.set()

        assert [stated for stated, _ in await asyncio.gather(*taken)] == ["Late"] * 4
        assert (response.status, body["error"]["code"]) == (503, "server_is_overloaded")
        assert int(response.headers["retry-after"]) >= 1
        assert all(supported.slots.in_use == 0 for supported in two.server.parts.models.backends)


async def test_one_that_leaves_while_it_waits_leaves_nothing_behind() -> None:
    go = asyncio.Event()
    shares = {name: BackendOptions(concurrency=1, queue=5) for name in "ab"}

    def slow(_: dict[str, Any]) -> Answer:
        return Answer([], JSON, wait=go, rest=[completion("Late")])

    async with pair(slow, slow, shares=shares) as two:
        slots = [supported.slots for supported in two.server.parts.models.backends]
        pending = [asyncio.create_task(two.send_request()) for _ in range(6)]
        async with asyncio.timeout(20):
            await until(lambda: sum(one.waiting for one in slots) >= 4)
            for task in pending:
                task.cancel()
            await until(lambda: not any(one.waiting or one.in_use for one in slots))
        go.set()

        assert (await two.send_request())[0] == "Late"


async def test_a_key_without_quota_is_requested_once_and_then_paused() -> None:
    async with pair(error(429, "Quota.", "insufficient_quota"), stating("b")) as two:
        for _ in range(10):
            assert await two.send_request() == ("b", "b")
        assert len(two.a.requests) == 1

        two.b.script = error(402)
        for _ in range(10):
            status, body = await two.server.post("/responses", json=BODY)
            assert (status, body["error"]["code"]) == (429, "insufficient_quota")  # type: ignore[index]
        assert len(two.b.requests) == 11


ABOUT_ONE_REQUEST = {
    "402": error(402, "You requested up to 65535 tokens, but can only afford 53."),
    "403": error(403, "Your input was flagged."),
    "403 of a model": error(403, "No access.", "model_not_found"),
}


@pytest.mark.parametrize("refuses", ABOUT_ONE_REQUEST.values(), ids=ABOUT_ONE_REQUEST)
@pytest.mark.parametrize("path", ["/responses", "/chat/completions"])
async def test_a_refusal_of_one_request_does_not_pause_the_backend_for_others(
    refuses: Script, path: str
) -> None:
    async with pair(refuses, stating("b"), models=("m", "n")) as two:
        status, _ = await two.server.post(path, json=BODY if path == "/responses" else CHAT)
        assert status in {400, 502}
        two.a.script = stating("a")

        assert await two.send_request() == ("a", "a")


TOO_LARGE = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 36278."
TOO_LARGE_IN_STREAM = {
    "error": {"message": TOO_LARGE, "type": "tokens", "code": "rate_limit_exceeded"}
}


@pytest.mark.parametrize("status", [429, 413])
@pytest.mark.parametrize("wait", [{}, {"retry_after": "600"}])
@pytest.mark.parametrize("path", ["/responses", "/chat/completions"])
async def test_a_request_that_is_too_large_for_a_limit_of_rate_pauses_nothing(
    status: int, wait: dict[str, str], path: str
) -> None:
    refuses = error(status, TOO_LARGE, "rate_limit_exceeded", **wait)
    async with pair(refuses, stating("b"), models=("m", "n")) as two:
        body = BODY if path == "/responses" else CHAT
        async with two.server.http.post(two.server.url + path, json=body) as response:
            reported = (await response.json())["error"]
        assert (response.status, reported["message"], reported["code"]) == (
            status,
            TOO_LARGE,
            "rate_limit_exceeded",
        )
        if status == 429:
            assert response.headers["x-should-retry"] == "false"
        two.a.script = stating("a")
        assert await two.send_request() == ("a", "a")

    async with pair(refuses, stating("b")) as two:
        assert await two.send_request() == ("b", "b")


async def test_a_limit_of_rate_in_a_stream_is_one_like_any_other() -> None:
    in_stream = lambda _: Answer([sse(TOO_LARGE_IN_STREAM, done=False)])  # noqa: E731 - a script like the others
    async with pair(in_stream, stating("b"), models=("m", "n")) as two:
        for _ in range(MOST_FAILURES):
            async with two.server.http.post(
                two.server.url + "/responses", json={**BODY, "stream": True}
            ) as response:
                assert TOO_LARGE in await response.text()
        health = two.server.parts.models.backends[0].health

        assert (health.failures, health.pauses) == (0, {})


@pytest.mark.parametrize("path", ["/responses", "/chat/completions"])
async def test_one_rejected_key_does_not_take_the_only_backend_from_other_clients(
    path: str,
) -> None:
    async with pair(error(401), stating("b"), models=("m", "n")) as two:
        status, _ = await two.server.post(path, json=BODY if path == "/responses" else CHAT)
        assert status == 502
        two.a.script = stating("a")

        assert await two.send_request() == ("a", "a")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_chain_stays_with_the_backend_that_began_it_where_each_does_one_thing_at_a_time(
    stream: bool,
) -> None:
    shares = {name: BackendOptions(concurrency=1, queue=0) for name in "ab"}
    async with pair(stating("a"), stating("b"), shares=shares) as two:
        previous: dict[str, Any] = {}
        begun = set()
        for _ in range(20):
            body = {**BODY, **previous, "stream": stream}
            async with two.server.http.post(two.server.url + "/responses", json=body) as response:
                seen = await response.text()
            begun.add(response.headers["antiphon-backend"])
            previous = {"previous_response_id": re.findall(r"resp_\w+", seen)[-1]}

        assert len(begun) == 1


BREAKS: dict[str, Script] = {
    "silent before its status": lambda _: Answer([], wait=asyncio.Event()),
    "closed before its status": lambda _: Answer([], cut=True),
    "broken off": lambda _: Answer([text("Half ", "of it")[:200]], cut=True),
}


@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("path", ["/responses", "/chat/completions"])
async def test_one_that_lists_its_models_and_answers_nothing_whole_stays_out(
    breaks: Script, path: str
) -> None:
    async with pair(breaks, stating("b"), models=("m", "n"), timeouts=QUICK) as two:
        for _ in range(MOST_FAILURES):
            with suppress(aiohttp.ClientError):
                await two.server.post(
                    path, json={**(BODY if path == "/responses" else CHAT), "stream": True}
                )
        await two.server.parts.models.refresh()

        assert two.server.parts.models.backends[0].health.is_ejected


async def test_one_that_was_not_there_is_back_as_soon_as_it_is() -> None:
    async with pair(stating("a"), stating("b"), models=("m", "n")) as two:
        a = two.server.parts.models.backends[0]
        there = a.backend
        a.update(backend=HttpBackend(there.name, "http://127.0.0.1:1/v1"))
        for _ in range(MOST_FAILURES):
            await two.server.post("/responses", json=BODY)
        assert a.health.is_ejected

        a.update(backend=there)
        await two.server.parts.models.refresh()
        assert not a.health.is_ejected


async def test_one_that_hung_is_back_as_soon_as_the_active_check_sees_it_answer() -> None:
    hung = await asyncio.get_running_loop().create_server(
        asyncio.Protocol, "127.0.0.1", 0
    )  # accepts, and is silent
    url = f"http://127.0.0.1:{hung.sockets[0].getsockname()[1]}/v1"
    try:
        async with pair(stating("a"), stating("b"), models=("m", "n")) as two:
            a = two.server.parts.models.backends[0]
            there = a.backend
            a.update(backend=HttpBackend(there.name, url, list_timeout=0.05))
            for _ in range(MOST_FAILURES):
                await two.server.parts.models.refresh()
            assert a.health.is_ejected
            await a.backend.close()

            a.update(backend=there)
            await two.server.parts.models.refresh()
            assert not a.health.is_ejected
    finally:
        hung.close()


BEFORE_THE_FIRST_TOKEN = {
    "no byte": [],
    "a comment": [b": still here\n\n"],
    "a chunk that says nothing": [sse(delta(role="assistant", content=""), done=False)],
}


@pytest.mark.parametrize("stated", BEFORE_THE_FIRST_TOKEN.values(), ids=BEFORE_THE_FIRST_TOKEN)
async def test_one_that_is_silent_before_its_first_token_is_left_for_another(
    stated: list[bytes],
) -> None:
    async with pair(
        lambda _: Answer(stated, wait=asyncio.Event()), stating("Hello"), timeouts=QUICK
    ) as two:
        response = await two.server.sdk.responses.create(model="m", input="Hi", stream=True)
        events = [event async for event in response]

        assert events[-1].type == "response.completed"
        assert len(two.a.requests) == len(two.b.requests) == 1


@pytest.mark.parametrize("stated", BEFORE_THE_FIRST_TOKEN.values(), ids=BEFORE_THE_FIRST_TOKEN)
async def test_until_its_first_token_a_backend_may_think_for_longer_than_between_two(
    stated: list[bytes],
) -> None:
    go = asyncio.Event()
    thinking = Answer(stated, wait=go, rest=[text("Well")])
    timeouts = {"first_byte_timeout": 20.0, "idle_timeout": 0.1}
    async with pair(lambda _: thinking, stating("Hello"), timeouts=timeouts) as two:
        asyncio.get_running_loop().call_later(0.6, go.set)
        response = await two.server.sdk.responses.create(model="m", input="Hi", stream=True)
        events = [event async for event in response]

        assert events[-1].response.output_text == "Well"  # type: ignore[union-attr]
        assert two.b.requests == []


async def test_one_that_falls_silent_in_the_middle_ends_in_response_failed() -> None:
    stalled = Answer([text("Half ", "of it")[:200]], wait=asyncio.Event())
    async with pair(lambda _: stalled, stating("Hello"), timeouts={"idle_timeout": 0.3}) as two:
        response = await two.server.sdk.responses.create(
            model="m", input="Hi", stream=True, store=True
        )
        with pytest.raises(openai.APIError, match="stopped sending data"):
            async for _ in response:
                pass

        assert two.b.requests == []


async def test_a_backend_without_a_name_is_called_by_its_place() -> None:
    async with pair(
        stating("a"),
        stating("b"),
        shares={"a": BackendOptions(label="backend-1")},
        models=("m", "n"),
    ) as two:
        assert await two.send_request() == ("a", "backend-1")
