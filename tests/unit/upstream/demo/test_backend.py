import base64
import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from antiphon.upstream.demo.backend import DemoBackend

CHAT = "/chat/completions"
WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
    },
    "required": ["city", "unit", "days"],
    "additionalProperties": False,
}


def tool(name, parameters=WEATHER):
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [tool("get_weather"), tool("get_time"), tool("send")]


async def post(path=CHAT, **request):
    body = json.dumps({"model": "demo", **request}).encode()
    reply = await DemoBackend(now=lambda: 1700000000.0).post(path, body)
    return reply, await reply.read()


def user(text):
    return {"messages": [{"role": "user", "content": text}]}


async def completion(text="Hello there", **request):
    reply, body = await post(**user(text) | request)
    assert reply.status == 200, body
    return json.loads(body)


async def choice(text="Hello there", **request):
    return (await completion(text, **request))["choices"][0]


async def chunks(text="Hello there", **request):
    reply, body = await post(**user(text) | request | {"stream": True})
    assert reply.status == 200, body
    events = body.decode().removesuffix("\n\n").split("\n\n")
    assert events.pop() == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


async def deltas(text="Hello there", **request):
    return [one["choices"][0]["delta"] for one in await chunks(text, **request) if one["choices"]]


async def called(text, **request):
    """The name and the arguments of each call."""
    answer = await choice(text, **{"tools": TOOLS} | request)
    calls = answer["message"].get("tool_calls", [])
    assert answer["finish_reason"] == ("tool_calls" if calls else "stop")
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]


async def names(text, **request):
    return [name for name, _ in await called(text, **request)]


async def refusal(path=CHAT, **request):
    reply, body = await post(path, **request)
    error = json.loads(body)["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    return reply.status, error["param"], error["code"]


async def test_it_is_listed_as_ours():
    (model,) = (await DemoBackend().list_models()).models

    assert (model["id"], model["object"], model["owned_by"]) == ("demo", "model", "antiphon")


async def test_it_says_that_it_is_a_script_and_repeats_the_user():
    answer = await choice("Why is the sky blue?")

    assert "I am demo, Antiphon's scripted model" in answer["message"]["content"]
    assert "Why is the sky blue?" in answer["message"]["content"]
    assert (answer["message"]["role"], answer["finish_reason"], answer["index"]) == ("assistant", "stop", 0)


async def test_it_reads_the_last_user_message_and_names_parts_that_are_no_text():
    image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    messages = [
        {"role": "user", "content": "Old"},
        {"role": "assistant", "content": "Yes"},
        {"role": "user", "content": [{"type": "text", "text": "New"}, image]},
    ]

    said = (await choice(messages=messages))["message"]["content"]

    assert "New [image_url]" in said
    assert "Old" not in said


async def test_it_does_not_repeat_a_book():
    assert len((await choice("word " * 10_000))["message"]["content"]) < 2200


async def test_it_streams_word_by_word():
    parts = await deltas("Hello there")

    words = [part["content"] for part in parts if "content" in part]
    assert len(words) == len("".join(words).split()) > 5
    assert (parts[0], parts[-1]) == ({"role": "assistant"}, {})


REQUESTS = st.fixed_dictionaries(
    {"messages": st.text(max_size=60).map(lambda text: [{"role": "user", "content": text}])},
    optional={
        "reasoning_effort": st.sampled_from(["none", "low", "high"]),
        "max_tokens": st.integers(1, 40),
        "stop": st.sampled_from(["scripted", ["a", "e"]]),
        "logprobs": st.just(True),
        "response_format": st.sampled_from([{"type": "json_object"}, {"type": "text"}]),
    },
)

CHOICES = st.fixed_dictionaries(
    {"tools": st.just(TOOLS)}, optional={"tool_choice": st.sampled_from(["none", "auto", "required"])}
)

REQUESTS = st.builds(lambda request, choice: request | choice, REQUESTS, st.just({}) | CHOICES)


@given(REQUESTS)
async def test_plain_and_streamed_say_the_same_and_count_the_same(request):
    whole = await completion(**request)
    parts = await chunks(**request, stream_options={"include_usage": True})

    told = [one["choices"][0]["delta"] for one in parts[:-1]]
    message = whole["choices"][0]["message"]
    for name in ("content", "reasoning_content", "refusal"):
        assert "".join(delta.get(name) or "" for delta in told) == (message.get(name) or "")
    pieces = [call["function"]["arguments"] for delta in told for call in delta.get("tool_calls", ())]
    assert "".join(pieces) == "".join(call["function"]["arguments"] for call in message.get("tool_calls", ()))
    assert parts[-2]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]
    assert (parts[-1]["choices"], parts[-1]["usage"]) == ([], whole["usage"])
    assert {one["id"] for one in parts} == {whole["id"]}


@given(REQUESTS)
async def test_the_same_request_gets_the_same_answer(request):
    assert await completion(**request) == await completion(**request)
    assert await chunks(**request) == await chunks(**request)


async def test_a_stream_has_usage_only_where_it_is_asked_for():
    assert all(one["choices"] and "usage" not in one for one in await chunks())


async def test_usage_counts_words():
    whole = await completion("one two three")

    words = len(whole["choices"][0]["message"]["content"].split())
    assert whole["usage"]["prompt_tokens"] == 3
    assert whole["usage"]["completion_tokens"] == words
    assert whole["usage"]["total_tokens"] == 3 + words


@pytest.mark.parametrize("effort", [None, "none", "minimal"])
async def test_it_does_not_reason_unasked(effort):
    whole = await completion(reasoning_effort=effort)

    assert "reasoning_content" not in whole["choices"][0]["message"]
    assert whole["usage"]["completion_tokens_details"]["reasoning_tokens"] == 0


async def test_it_reasons_first_and_the_more_the_harder_it_is_asked_to():
    parts = await deltas(reasoning_effort="high")
    kinds = ["reasoning" if "reasoning_content" in part else "text" for part in parts[1:-1]]
    assert kinds == sorted(kinds)
    assert set(kinds) == {"reasoning", "text"}

    counts = [
        (await completion(reasoning_effort=effort))["usage"]["completion_tokens_details"]["reasoning_tokens"]
        for effort in ("low", "medium", "high")
    ]
    assert 0 < counts[0] < counts[1] < counts[2] == kinds.count("reasoning")


async def test_it_calls_the_first_tool_where_none_is_named():
    assert await called("How is it in Paris?") == [("get_weather", {"city": "Paris", "unit": "celsius", "days": 1})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please use get_time.", ["get_time"]),
        ("GET_TIME and get_weather, please", ["get_weather", "get_time"]),
        ("Use sender, resend or send_all", ["get_weather"]),
    ],
)
async def test_it_calls_the_tools_that_the_user_names(text, expected):
    assert await names(text) == expected


async def test_it_makes_one_call_where_parallel_calls_are_forbidden():
    assert await names("get_time and send", parallel_tool_calls=False) == ["get_time"]


def named(name):
    return {"type": "function", "function": {"name": name}}


def allowed(mode, *tools):
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [named(name) for name in tools]}}


@pytest.mark.parametrize(
    ("tool_choice", "expected"),
    [
        ("none", []),
        ("auto", ["get_time"]),
        ("required", ["get_time"]),
        (named("send"), ["send"]),
        (allowed("auto", "send", "get_weather"), ["get_weather"]),
        (allowed("required", "send", "get_time"), ["get_time"]),
        (allowed("auto"), []),
    ],
)
async def test_it_heeds_the_choice_of_tools(tool_choice, expected):
    assert await names("Tell me get_time", tool_choice=tool_choice) == expected


async def test_arguments_come_in_several_deltas_after_the_name():
    parts = [call for part in await deltas("get_time and send", tools=TOOLS) for call in part.get("tool_calls", ())]

    for index, name in enumerate(["get_time", "send"]):
        first, *rest = [call for call in parts if call["index"] == index]
        assert (first["function"], first["type"]) == ({"name": name, "arguments": ""}, "function")
        assert len(rest) > 2
        arguments = json.loads("".join(call["function"]["arguments"] for call in rest))
        Draft202012Validator(WEATHER).validate(arguments)
    assert len({call["id"] for call in parts if "id" in call}) == 2


async def test_calls_of_different_turns_have_different_ids():
    first = (await choice("One", tools=TOOLS))["message"]["tool_calls"][0]["id"]
    second = (await choice("Two", tools=TOOLS))["message"]["tool_calls"][0]["id"]

    assert first != second


async def test_a_tool_without_parameters_is_called_with_none():
    bare = {"type": "function", "function": {"name": "ping"}}

    assert await called("Ping!", tools=[bare, tool("pong", {})]) == [("ping", {})]
    assert await called("pong", tools=[bare, tool("pong", {})]) == [("pong", {})]


CALL = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
ANSWERED = [
    {"role": "user", "content": "How is it?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "d"}]},
    {"role": "tool", "tool_call_id": "c", "content": "12 degrees"},
    {"role": "tool", "tool_call_id": "d", "content": [{"type": "text", "text": "little rain"}]},
]


async def test_it_quotes_the_outputs_of_tools_instead_of_calling_again():
    answer = await choice(messages=ANSWERED, tools=TOOLS)

    assert "12 degrees and little rain" in answer["message"]["content"]
    assert answer["finish_reason"] == "stop"


async def test_it_calls_again_where_it_must():
    assert await names("", messages=ANSWERED, tool_choice="required") == ["get_weather"]


async def test_a_new_question_after_a_tool_is_a_new_call():
    messages = [*ANSWERED, {"role": "user", "content": "And send?"}]

    assert await names("", messages=messages) == ["send"]


async def test_it_answers_in_json_where_asked():
    said = (await choice(response_format={"type": "json_object"}))["message"]["content"]

    assert json.loads(said)["you_said"] == "Hello there"


async def test_it_answers_what_fits_a_schema():
    response_format = {"type": "json_schema", "json_schema": {"name": "w", "schema": WEATHER, "strict": True}}

    said = (await choice("And in Rome?", response_format=response_format))["message"]["content"]

    assert json.loads(said) == {"city": "Rome", "unit": "celsius", "days": 1}


async def test_it_refuses_where_told_to():
    answer = await choice("Please [refuse] this", tools=TOOLS)

    assert answer["message"]["content"] is None
    assert "refuses" in answer["message"]["refusal"]
    assert answer["finish_reason"] == "stop"


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_it_stops_at_the_token_limit(name):
    whole = await completion(**{name: 4})

    answer = whole["choices"][0]
    assert answer["message"]["content"] == "I am demo, Antiphon's"
    assert answer["finish_reason"] == "length"
    assert whole["usage"]["completion_tokens"] == 4


async def test_reasoning_counts_towards_the_limit():
    answer = await choice(max_tokens=2, reasoning_effort="low")

    assert answer["message"] == {"role": "assistant", "content": None, "refusal": None, "reasoning_content": "The user"}
    assert answer["finish_reason"] == "length"


async def test_a_call_can_be_cut_by_the_limit():
    answer = await choice(max_tokens=3, tools=TOOLS)

    with pytest.raises(ValueError):
        json.loads(answer["message"]["tool_calls"][0]["function"]["arguments"])
    assert answer["finish_reason"] == "length"


async def test_an_answer_that_just_fits_is_whole():
    size = (await completion())["usage"]["completion_tokens"]

    assert (await choice(max_tokens=size))["finish_reason"] == "stop"
    assert (await choice(max_tokens=size - 1))["finish_reason"] == "length"


@pytest.mark.parametrize("limit", [-1, 0, None])
async def test_no_limit_is_no_limit(limit):
    assert (await choice(max_tokens=limit))["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("stop", "said"), [("scripted", "Antiphon's "), (["nowhere", ", A", "mo"], "I am de"), ("", "there")]
)
async def test_it_stops_before_a_stop_text(stop, said):
    answer = await choice(stop=stop)

    assert answer["message"]["content"].endswith(said)
    assert answer["finish_reason"] == "stop"


@pytest.mark.parametrize("top", [0, 3, 20])
async def test_log_probabilities_are_those_of_the_words(top):
    answer = await choice(logprobs=True, top_logprobs=top)

    entries = answer["logprobs"]["content"]
    assert "".join(entry["token"] for entry in entries) == answer["message"]["content"]
    for entry in entries:
        tops = entry["top_logprobs"]
        assert len({one["token"] for one in tops}) == top
        assert entry["bytes"] == list(entry["token"].encode())
        assert [one["logprob"] for one in tops] == sorted((one["logprob"] for one in tops), reverse=True)
        assert not tops or (tops[0]["token"], tops[0]["logprob"]) == (entry["token"], entry["logprob"])
        assert 0 < sum(math.exp(one["logprob"]) for one in [*tops, *([] if tops else [entry])]) <= 1


async def test_each_streamed_word_has_its_own_log_probability():
    parts = [one["choices"][0] for one in await chunks(logprobs=True)]

    assert sum("content" in part["delta"] for part in parts) > 5
    for part in parts:
        tokens = [entry["token"] for entry in part.get("logprobs", {"content": []})["content"]]
        assert tokens == ([part["delta"]["content"]] if "content" in part["delta"] else [])


async def test_log_probabilities_come_only_where_asked_for():
    assert (await choice())["logprobs"] is None


MESSAGES = user("Hello")
BAD_SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": [1], "type": "string"}}}


def part(part):
    return {"messages": [{"role": "user", "content": [part]}]}


def image_at(url):
    return {"type": "image_url", "image_url": {"url": url}}


@pytest.mark.parametrize(
    ("request_", "refused"),
    [
        ({}, (400, "messages", "missing_required_parameter")),
        ({"messages": "Hello"}, (400, "messages", "invalid_type")),
        ({**MESSAGES, "n": 2}, (400, "n", "unsupported_value")),
        ({"messages": [{"role": "nobody", "content": "x"}]}, (400, "messages[0].role", "invalid_value")),
        ({"messages": [{"role": "user"}]}, (400, "messages[0].content", "missing_required_parameter")),
        (part({"type": "smell"}), (400, "messages[0].content[0].type", "invalid_value")),
        (part(image_at("file:///x")), (400, "messages[0].content[0].image_url", "invalid_image_url")),
        (part(image_at(7)), (400, "messages[0].content[0].image_url", "invalid_image_url")),
        ({"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}, (400, "messages[0].role", None)),
        ({**MESSAGES, "tool_choice": "required"}, (400, "tool_choice", None)),
        ({**MESSAGES, "tools": TOOLS, "tool_choice": "some"}, (400, "tool_choice", "invalid_value")),
        (
            {**MESSAGES, "response_format": {"type": "json_schema"}},
            (400, "response_format.json_schema", "missing_required_parameter"),
        ),
        ({**MESSAGES, "model": "gpt-4o"}, (404, "model", "model_not_found")),
        ({**MESSAGES, "tools": [{"type": "web_search"}]}, (400, "tools[0]", "invalid_value")),
        ({**MESSAGES, "tools": TOOLS, "tool_choice": named("x")}, (400, "tool_choice", "invalid_value")),
        ({**MESSAGES, "tools": TOOLS, "tool_choice": {"type": "x"}}, (400, "tool_choice", "invalid_value")),
        (
            {**MESSAGES, "tools": [tool("f", {"required": ["a"], "properties": {"a": False}})]},
            (400, "tools", "invalid_value"),
        ),
        ({**MESSAGES, "response_format": {"type": "xml"}}, (400, "response_format", "invalid_value")),
        ({**MESSAGES, "response_format": BAD_SCHEMA}, (400, "response_format", "invalid_value")),
    ],
)
async def test_a_malformed_request_is_refused(request_, refused):
    assert await refusal(**request_) == refused
    assert await refusal(**request_, stream=True) == refused


async def embeddings(**request):
    reply, body = await post("/embeddings", **request)
    assert reply.status == 200
    return json.loads(body)


async def test_an_embedding_is_a_unit_vector_that_its_text_alone_decides():
    answer = await embeddings(input=["a b", "c", "a b"])

    first, second, third = (one["embedding"] for one in answer["data"])
    assert first == third != second
    assert sum(number * number for number in first) == pytest.approx(1)
    assert [one["index"] for one in answer["data"]] == [0, 1, 2]
    assert answer["usage"] == {"prompt_tokens": 5, "total_tokens": 5}
    assert (await embeddings(input="a b"))["data"][0]["embedding"] == first


async def test_an_embedding_comes_in_base64_where_asked():
    (plain,) = (await embeddings(input="a", dimensions=5))["data"]
    (coded,) = (await embeddings(input="a", dimensions=5, encoding_format="base64"))["data"]

    assert struct.unpack("<5f", base64.b64decode(coded["embedding"])) == pytest.approx(plain["embedding"])


async def test_tokens_are_one_input_or_several():
    assert len((await embeddings(input=[1, 2, 3]))["data"]) == 1
    assert len((await embeddings(input=[[1, 2], [3]]))["data"]) == 2


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": [{}]}, "input"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format"),
        ({"input": "a", "dimensions": 10**6}, "dimensions"),
        ({"input": "a", "model": "x"}, "model"),
    ],
)
async def test_a_malformed_embeddings_request_is_refused(request_, param):
    status, refused, _ = await refusal("/embeddings", **request_)

    assert (400 <= status < 500, refused) == (True, param)
