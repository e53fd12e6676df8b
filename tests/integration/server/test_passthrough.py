"""Parameters of local servers, such as `top_k`: forwarded to backends that take them, else rejected
as OpenAI does.
"""

import base64
import json
from typing import Any

import pytest

from antiphon import AsyncAntiphon
from antiphon.build.backends import check_backends
from antiphon.config import BackendConfig, Settings
from antiphon.errors import ClientError, ConfigError
from antiphon.translation import Translator
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.documents import pdf
from tests.support.native import answering, message
from tests.support.pair import BODY, Pair, error, pair, stating
from tests.support.replay import ReplayBackend
from tests.support.server import serve
from tests.support.socket import talk
from tests.support.waiting import ended

LOCAL: dict[str, Any] = {
    "top_k": 20,
    "min_p": 0.1,
    "repetition_penalty": 1.1,
    "chat_template_kwargs": {"enable_thinking": False},
    "seed": 7,
    "stop": ["END"],
}
VLLM: dict[str, Any] = {"dialects": {"a": "vllm", "b": "openai"}}
MODELS = ("m", "n")


def options(*names: str) -> dict[str, BackendOptions]:
    return {"a": BackendOptions(passthrough=frozenset(names))}


def sent(request: dict[str, Any]) -> dict[str, Any]:
    return {name: request[name] for name in LOCAL if name in request}


async def refusal(two: Pair, **more: Any) -> tuple[str, str | None, str | None]:
    status, body = await two.server.post("/responses", json={**BODY, **more})
    assert status == 400, body
    reported: Any = body["error"]
    return reported["message"], reported["code"], reported["param"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_the_sdk_sends_them_as_extra_body_and_the_backend_receives_them(stream: bool) -> None:
    async with pair(stating("Hello"), stating("b"), MODELS, **VLLM) as two:
        create = two.server.sdk.responses.create
        if stream:
            events = await create(model="m", input="Hi", stream=True, extra_body=LOCAL)
            assert [event async for event in events][-1].type == "response.completed"
        else:
            assert (await create(model="m", input="Hi", extra_body=LOCAL)).output_text == "Hello"
        assert sent(two.a.requests[0]) == LOCAL


async def test_null_is_as_if_absent() -> None:
    async with pair(stating("Hello"), stating("b"), MODELS, **VLLM) as two:
        await two.send_request(top_k=None, min_p=0.1)
        await two.send_request(top_k=None)
        assert [sent(request) for request in two.a.requests] == [{"min_p": 0.1}, {}]


async def test_what_no_backend_of_the_model_takes_is_unknown() -> None:
    async with pair(stating("a"), stating("b"), MODELS, **VLLM) as two:
        wrong = "Unknown parameter: 'top_k'. Did you mean 'top_p'?", "unknown_parameter", "top_k"
        assert await refusal(two, model="n", top_k=20) == wrong
        wrong = "Unknown parameter: 'min_p'.", "unknown_parameter", "min_p"
        assert await refusal(two, model="n", min_p=0.1) == wrong
        wrong = "Unknown parameter: 'chat_template'.", "unknown_parameter", "chat_template"
        assert await refusal(two, top_k=20, chat_template="{{ messages }}") == wrong
        assert await refusal(two, chat_template="{{ messages }}", temperature="hot") == wrong
        assert two.a.requests == two.b.requests == []


async def test_what_else_is_wrong_is_named_where_they_are_taken() -> None:
    async with pair(stating("a"), stating("b"), MODELS, **VLLM) as two:
        assert (await refusal(two, top_k=20, temperature=3))[2] == "temperature"
        assert (await refusal(two, top_k=20, reasoning={"depth": 1}))[
            0
        ] == "Unknown parameter: 'reasoning.depth'."
        assert (await refusal(two, top_k=20, parameters={"n": 2}))[
            0
        ] == "Unknown parameter: 'parameters'."


async def test_a_setting_of_the_backend_replaces_those_of_its_dialect() -> None:
    async with pair(
        stating("a"), stating("b"), MODELS, shares=options("guided_regex"), **VLLM
    ) as two:
        await two.send_request(guided_regex="a+")
        assert two.a.requests[0]["guided_regex"] == "a+"
        assert (await refusal(two, min_p=0.1))[0] == "Unknown parameter: 'min_p'."
    async with pair(stating("a"), stating("b"), MODELS, shares=options()) as two:
        assert (await refusal(two, min_p=0.1))[0] == "Unknown parameter: 'min_p'."


async def test_backends_that_do_not_take_them_are_left_out() -> None:
    async with pair(stating("a"), stating("b"), dialects={"a": "openai", "b": "vllm"}) as two:
        assert {(await two.send_request(min_p=0.1))[1] for _ in range(4)} == {"b"}
        two.b.script = error(503)
        assert (await two.server.post("/responses", json={**BODY, "min_p": 0.1}))[0] == 503
        assert two.a.requests == []
        assert (await two.send_request())[1] == "a"


async def test_a_fallback_that_does_not_take_them_does_not_answer_and_never_does_alone() -> None:
    fallback = {"m": ["n"], "n": ["m"]}
    async with pair(error(503), stating("b"), MODELS, fallback=fallback, **VLLM) as two:
        assert (await two.server.post("/responses", json={**BODY, "min_p": 0.1}))[0] == 503
        assert await two.send_request() == ("b", "b")
        assert (await refusal(two, model="n", min_p=0.1))[0] == "Unknown parameter: 'min_p'."


async def test_where_each_backend_takes_one_of_two_the_first_that_the_first_lacks_is_unknown() -> (
    None
):
    shares = {
        "a": BackendOptions(passthrough=frozenset({"x"})),
        "b": BackendOptions(passthrough=frozenset({"yy"})),
    }
    async with pair(stating("a"), stating("b"), shares=shares) as two:
        assert (await two.send_request(yy=1))[1] == "b"
        assert (await refusal(two, x=1, yy=1))[0] == "Unknown parameter: 'yy'."


async def test_a_parameter_that_the_backend_rejects_is_an_error_that_names_it() -> None:
    async with pair(error(400, "Unknown parameter: 'min_p'."), stating("b"), MODELS, **VLLM) as two:
        message = "Unsupported parameter: 'min_p' is not supported with this model."
        assert await refusal(two, min_p=0.1) == (message, "unsupported_parameter", "min_p")
        assert await refusal(two, min_p=0.1) == (
            "Unknown parameter: 'min_p'.",
            "unknown_parameter",
            "min_p",
        )
        assert len(two.a.requests) == 1


async def test_they_are_part_of_the_cache_key() -> None:
    async with pair(stating("a"), stating("b"), MODELS, **VLLM) as two:
        for top_k in (1, 2, 1, 2):
            await two.send_request(top_k=top_k, antiphon={"cache": True})
        await two.send_request(antiphon={"cache": True})
        assert [request.get("top_k") for request in two.a.requests] == [1, 2, None]


async def test_they_are_part_of_what_an_idempotency_key_stands_for() -> None:
    async with pair(stating("a"), stating("b"), MODELS, **VLLM) as two:
        key = {"idempotency-key": "k"}
        requested = [
            (await two.server.post("/responses", json={**BODY, "top_k": k}, headers=key))[0]
            for k in (1, 1, 2)
        ]
        assert requested == [200, 200, 422]
        assert len(two.a.requests) == 1


async def test_background_responses_keep_them() -> None:
    async with pair(stating("a"), stating("b"), MODELS, **VLLM) as two:
        sdk = two.server.sdk
        queued = await sdk.responses.create(
            model="m", input="Hi", background=True, extra_body=LOCAL
        )
        await ended(sdk, queued.id)
        assert sent(two.a.requests[0]) == LOCAL
        assert (await refusal(two, model="n", min_p=0.1, background=True))[
            0
        ] == "Unknown parameter: 'min_p'."


async def test_background_responses_run_on_backends_that_support_them() -> None:
    async with pair(stating("a"), stating("b"), dialects={"a": "openai", "b": "vllm"}) as two:
        queued = await two.server.sdk.responses.create(
            model="m", input="Hi", background=True, extra_body=LOCAL
        )
        created = await ended(two.server.sdk, queued.id)
        assert created.output_text == "b"
        assert two.a.requests == []


async def test_websockets_take_them() -> None:
    async with pair(stating("a"), stating("b"), MODELS, **VLLM) as two, talk(two.server) as socket:
        await socket.created(model="m", **LOCAL)
        assert sent(two.a.requests[0]) == LOCAL
        reported = await socket.refusal(model="n", min_p=0.1)
        assert reported["message"] == "Unknown parameter: 'min_p'."


async def test_a_backend_that_speaks_responses_receives_them() -> None:
    native = BackendOptions(api="responses")
    backend = ReplayBackend(answering([message("Hello")]), speaks_responses=True)
    async with (
        backend.serve(),
        serve(
            HttpBackend("n", backend.url), shares={"n": native}, dialects={"n": "vllm"}
        ) as server,
    ):
        status, _ = await server.post("/responses", json={**BODY, **LOCAL})
        assert status == 200
        assert sent(backend.requests[0]) == LOCAL


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "llamacpp"])
async def test_effort_switches_the_thinking_of_chat_templates(dialect: str) -> None:
    async with pair(stating("a"), stating("b"), MODELS, dialects={"a": dialect}) as two:
        for effort, thinks in (("none", False), ("low", True), ("high", True)):
            await two.send_request(reasoning={"effort": effort})
            request = two.a.requests[-1]
            assert request["chat_template_kwargs"] == {"enable_thinking": thinks}
            assert request["reasoning_effort"] == effort
        await two.send_request()
        assert "chat_template_kwargs" not in two.a.requests[-1]


async def test_what_the_client_writes_for_the_template_counts_more_than_the_effort() -> None:
    async with pair(stating("a"), stating("b"), MODELS, **VLLM) as two:
        await two.send_request(
            reasoning={"effort": "high"}, chat_template_kwargs={"preserve_thinking": True}
        )
        await two.send_request(
            reasoning={"effort": "high"}, chat_template_kwargs={"enable_thinking": False}
        )
        kwargs = [request["chat_template_kwargs"] for request in two.a.requests]
        assert kwargs == [
            {"enable_thinking": True, "preserve_thinking": True},
            {"enable_thinking": False},
        ]


async def test_a_tokenizer_without_template_receives_the_effort_alone() -> None:
    def mistral(request: dict[str, Any]) -> Any:
        refuses = "chat_template_kwargs" in request
        return (
            error(400, "chat_template is not supported for Mistral tokenizers.")
            if refuses
            else stating("a")
        )(request)

    async with pair(mistral, stating("b"), MODELS, **VLLM) as two:
        for _ in range(2):
            assert await two.send_request(reasoning={"effort": "high"}) == ("a", "a")
        assert [
            ("chat_template_kwargs" in one, one["reasoning_effort"]) for one in two.a.requests
        ] == [
            (True, "high"),
            (False, "high"),
            (False, "high"),
        ]


async def test_the_library_takes_them() -> None:
    backend = ReplayBackend(stating("Hello"))
    backend.models = [{"id": "m", "object": "model", "created": 1, "owned_by": "vllm"}]
    async with backend.serve(), AsyncAntiphon(backend=backend.url) as client:
        await client.responses.create(model="m", input="Hi", extra_body={"top_k": 20})
        with pytest.raises(
            ClientError, match=r"Unknown parameter: 'temprature'\. Did you mean 'temperature'\?"
        ):
            await client.responses.create(model="m", input="Hi", extra_body={"temprature": 1})
    assert backend.requests[0]["top_k"] == 20
    assert Translator({**BODY, "top_k": 20}, dialect="llamacpp").chat_request["top_k"] == 20


@pytest.mark.parametrize("name", ["input", "messages", "temperature", "max_tokens", "n", "stream"])
def test_what_the_translation_sets_cannot_be_forwarded(name: str) -> None:
    settings = Settings(
        backends=[BackendConfig(url="http://127.0.0.1:1/v1", passthrough=["top_k", name])]
    )
    with pytest.raises(ConfigError, match=f"'{name}' in `passthrough`"):
        check_backends(settings, {})


async def test_the_error_for_a_pdf_names_the_settings_that_would_let_it_through() -> None:
    data = base64.b64encode(pdf("")).decode()
    part = {
        "type": "input_file",
        "filename": "a.pdf",
        "file_data": f"data:application/pdf;base64,{data}",
    }
    content = [{"role": "user", "content": [part]}]
    async with pair(stating("a"), stating("b"), MODELS, **VLLM) as two:
        message, _, param = await refusal(two, input=content)
        assert param == "input[0].content[0]"
        assert message.startswith("Invalid 'input[0].content[0]': The PDF contains no text. ")
        assert " has the dialect 'vllm', " in message
        assert "`dialect`" in message and message.endswith('`api` to "responses".')
    async with pair(stating("a"), stating("b"), MODELS, dialects={"a": "openai"}) as two:
        await two.send_request(input=content)
        assert data in json.dumps(two.a.requests[0])
