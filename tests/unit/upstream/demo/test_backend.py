import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    numbers = itertools.count()
    backend = DemoBackend(
        now=lambda: 1700000000.0, new_id=lambda prefix: f"{prefix}_{next(numbers)}"
    )
    reply = await backend.post(path, body)
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


async def test_it_states_that_it_is_a_script_and_repeats_the_user():
    answer = await choice("Why is the sky blue?")

    assert "I am demo, Antiphon's scripted model" in answer["message"]["content"]
    assert "Why is the sky blue?" in answer["message"]["content"]
    assert (answer["message"]["role"], answer["finish_reason"], answer["index"]) == (
        "assistant",
        "stop",
        0,
    )


async def test_it_reads_the_last_user_message_and_names_parts_that_are_no_text():
    image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    messages = [
        {"role": "user", "content": "Old"},
        {"role": "assistant", "content": "Yes"},
        {"role": "user", "content": [{"type": "text", "text": "New"}, image]},
    ]

    content = (await choice(messages=messages))["message"]["content"]

    assert "New [image_url]" in content
    assert "Old" not in content


async def test_it_does_not_repeat_a_book():
    assert len((await choice("word " * 10_000))["message"]["content"]) == 2000


async def test_it_shows_what_it_received():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Old"},
        {"role": "assistant", "content": "Yes"},
        {"role": "user", "content": "New"},
    ]

    content = (await choice(messages=messages, tools=TOOLS))["message"]["content"]

    assert "I received 4 messages and the tools get_weather, get_time, send." in content
    assert "I received 1 message. You said: Hello there" in (await choice())["message"]["content"]


async def answered(*texts):
    """The text that answers the last of the user's texts."""
    turns = [{"role": "user", "content": text} for text in texts]
    answers = [{"role": "assistant", "content": "I see."}] * len(turns)
    history = [one for pair in zip(turns, answers, strict=True) for one in pair][:-1]
    return (await choice(messages=history))["message"]["content"]


@pytest.mark.parametrize(
    ("reported", "requested", "expected"),
    [
        ("My name is Ada.", "What is my name?", "Your name is Ada."),
        ("My name's Ada", "What's my name?", "Your name's Ada"),
        ("My name is Ada. Tell me a tale.", "Do you know my name?", "Your name is Ada."),
        ("I live in Dover, and I'm old.", "Where do I live?", "You live in Dover, and you're old."),
        (
            "My favourite colour is green.",
            "What is my favourite colour?",
            "Your favourite colour is green.",
        ),
        (
            "Remember this word: tide.",
            "Which word did I ask you to remember? Be brief.",
            "Remember this word: tide.",
        ),
    ],
)
async def test_it_answers_a_question_about_the_user_from_the_history(reported, requested, expected):
    assert await answered(reported, requested) == expected
    assert await answered(reported, "Thank you.", requested) == expected
    assert await answered(f"{reported}\n{requested}") == expected


async def test_the_newest_of_the_users_statements_counts():
    assert (
        await answered("My name is Ada.", "My name is Eve.", "What is my name?")
        == "Your name is Eve."
    )


@pytest.mark.parametrize(
    ("reported", "requested"),
    [
        ("My name is Ada.", "My name?!"),
        ("My name is Ada.", "What is your name?"),
        ("My favourite food is rice.", "What is my favourite colour?"),
        ("What is my name?", "What is my name?"),
        ("My name is Ada.", "Am I?"),
    ],
)
async def test_it_reveals_nothing_else_about_the_user(reported, requested):
    assert (await answered(reported, requested)).endswith(f" 3 messages. You said: {requested}")


async def test_it_streams_word_by_word():
    parts = await deltas("Hello there")

    words = [part["content"] for part in parts if "content" in part]
    assert len(words) == len("".join(words).split()) > 5
    assert (parts[0], parts[-1]) == ({"role": "assistant"}, {})


CALLS = """Please do this:
call get_time
call send {"city": "Rome", "unit": "kelvin"}"""

REQUESTS = st.fixed_dictionaries(
    {
        "messages": (st.text(max_size=60) | st.just(CALLS)).map(
            lambda text: [{"role": "user", "content": text}]
        )
    },
    optional={
        "reasoning_effort": st.sampled_from(["none", "low", "high"]),
        "max_tokens": st.integers(1, 40),
        "stop": st.sampled_from(["scripted", ["a", "e"]]),
        "logprobs": st.just(True),
        "response_format": st.sampled_from([{"type": "json_object"}, {"type": "text"}]),
    },
)

CHOICES = st.fixed_dictionaries(
    {"tools": st.just(TOOLS)},
    optional={"tool_choice": st.sampled_from(["none", "auto", "required"])},
)

REQUESTS = st.builds(lambda request, choice: request | choice, REQUESTS, st.just({}) | CHOICES)


@given(REQUESTS)
async def test_plain_and_streamed_answers_have_the_same_content_and_usage(request):
    whole = await completion(**request)
    parts = await chunks(**request, stream_options={"include_usage": True})

    reported = [one["choices"][0]["delta"] for one in parts[:-1]]
    message = whole["choices"][0]["message"]
    for name in ("content", "reasoning_content", "refusal"):
        assert "".join(delta.get(name) or "" for delta in reported) == (message.get(name) or "")
    pieces = [
        call["function"]["arguments"] for delta in reported for call in delta.get("tool_calls", ())
    ]
    assert "".join(pieces) == "".join(
        call["function"]["arguments"] for call in message.get("tool_calls", ())
    )
    assert parts[-2]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]
    assert (parts[-1]["choices"], parts[-1]["usage"]) == ([], whole["usage"])
    assert {one["id"] for one in parts} == {whole["id"]}


@given(REQUESTS)
async def test_the_same_request_gets_the_same_answer(request):
    assert await completion(**request) == await completion(**request)
    assert await chunks(**request) == await chunks(**request)


async def test_each_answer_and_each_call_has_ids_of_its_own():
    backend = DemoBackend()
    body = json.dumps({"model": "demo", **user(CALLS), "tools": TOOLS}).encode()
    answers = [json.loads(await (await backend.post(CHAT, body)).read()) for _ in range(2)]

    calls = [
        call["id"] for answer in answers for call in answer["choices"][0]["message"]["tool_calls"]
    ]
    assert len({answer["id"] for answer in answers}) == 2
    assert all(answer["id"].startswith("chatcmpl-") for answer in answers)
    assert len({*calls}) == 4
    assert all(one.startswith("call_") for one in calls)


async def test_a_stream_has_usage_only_if_requested():
    assert {(bool(one["choices"]), "usage" in one) for one in await chunks()} == {(True, False)}


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


async def test_it_reasons_first_if_requested():
    parts = await deltas(reasoning_effort="low")
    kinds = ["reasoning" if "reasoning_content" in part else "text" for part in parts[1:-1]]
    assert kinds == sorted(kinds)
    assert set(kinds) == {"reasoning", "text"}

    whole = await completion(reasoning_effort="high")
    assert whole["usage"]["completion_tokens_details"]["reasoning_tokens"] == kinds.count(
        "reasoning"
    )


async def test_it_makes_the_calls_that_the_user_spells_out():
    assert await called(CALLS) == [
        ("get_time", {"city": "city", "unit": "celsius", "days": 1}),
        ("send", {"city": "Rome", "unit": "kelvin"}),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Please use get_time.",
        "call get_time please",
        "Please call get_time",
        "Call get_time",
        "call get_tim",
        "call time",
        "call get_time [1]",
        'call get_time {"city": "Rome"} please',
        "Please run pwd",
    ],
)
async def test_it_turns_no_other_words_into_a_call(text):
    tools = [tool("get_time"), tool("gettime"), tool("Please")]

    assert await called(text, tools=tools) == []
    assert f"You said: {text}" in (await choice(text, tools=tools))["message"]["content"]


async def test_lines_may_end_as_they_do_on_windows():
    assert await names(CALLS.replace("\n", "\r\n")) == ["get_time", "send"]


async def test_the_arguments_are_the_users_character_for_character():
    answer = await choice('call send {"a":  1, "a": [}', tools=TOOLS)

    assert answer["message"]["tool_calls"][0]["function"]["arguments"] == '{"a":  1, "a": [}'


@pytest.mark.parametrize("name", ["shelf__lookup", "shelf-lookup", "mcp__shelf__lookup"])
async def test_a_function_may_be_called_by_the_end_of_its_name(name):
    assert await names("call lookup", tools=[tool("lookupper"), tool(name)]) == [name]
    assert await names("call lookup", tools=[tool(name), tool("lookup")]) == ["lookup"]


async def test_it_makes_one_call_where_parallel_calls_are_forbidden():
    assert await names(CALLS, parallel_tool_calls=False) == ["get_time"]


def named(name):
    return {"type": "function", "function": {"name": name}}


def allowed(mode, *tools):
    return {
        "type": "allowed_tools",
        "allowed_tools": {"mode": mode, "tools": [named(name) for name in tools]},
    }


@pytest.mark.parametrize(
    ("tool_choice", "expected"),
    [
        ("none", []),
        ("auto", ["get_time", "send"]),
        ("required", ["get_time", "send"]),
        (named("send"), ["send"]),
        (allowed("auto", "send", "get_weather"), ["send"]),
        (allowed("required", "get_weather", "get_time"), ["get_time"]),
        (allowed("auto"), []),
    ],
)
async def test_it_heeds_the_choice_of_tools(tool_choice, expected):
    assert await names(CALLS, tool_choice=tool_choice) == expected


@pytest.mark.parametrize(
    ("tool_choice", "expected"),
    [
        ("auto", []),
        ("required", ["get_weather"]),
        (named("send"), ["send"]),
        (allowed("auto", "send"), []),
        (allowed("required", "send", "get_time"), ["get_time"]),
    ],
)
async def test_it_makes_a_sample_call_where_one_is_required_and_none_is_spelled_out(
    tool_choice, expected
):
    assert await names("Hello", tool_choice=tool_choice) == expected


async def test_arguments_come_in_several_deltas_after_the_name():
    parts = [
        call for part in await deltas(CALLS, tools=TOOLS) for call in part.get("tool_calls", ())
    ]

    for index, name in enumerate(["get_time", "send"]):
        first, *rest = [call for call in parts if call["index"] == index]
        assert (first["function"], first["type"]) == ({"name": name, "arguments": ""}, "function")
        assert len(rest) > 2
        assert json.loads("".join(call["function"]["arguments"] for call in rest))


async def test_a_tool_without_parameters_is_called_with_none():
    bare = {"type": "function", "function": {"name": "ping"}}

    assert await called("call ping", tools=[bare, tool("pong", {})]) == [("ping", {})]
    assert await called("call pong", tools=[bare, tool("pong", {})]) == [("pong", {})]


CALL = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
ANSWERED = [
    {"role": "user", "content": "call get_weather\ncall get_weather"},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "d"}]},
    {"role": "tool", "tool_call_id": "c", "content": "12 degrees"},
    {"role": "tool", "tool_call_id": "d", "content": [{"type": "text", "text": "little rain"}]},
]


async def test_it_reports_the_outputs_of_tools_instead_of_calling_again():
    answer = await choice(messages=ANSWERED, tools=TOOLS)

    assert answer["message"]["content"] == "The tool returned: 12 degrees and little rain"
    assert answer["finish_reason"] == "stop"


async def test_it_calls_again_where_it_must():
    assert await names("", messages=ANSWERED, tool_choice="required") == [
        "get_weather",
        "get_weather",
    ]


async def test_a_new_question_after_a_tool_is_a_new_call():
    messages = [*ANSWERED, {"role": "user", "content": "call send"}]

    assert await names("", messages=messages) == ["send"]


SEARCH = tool("file_search", {"type": "object", "properties": {"queries": {"type": "array"}}})
FOUND = """The search found:
It is data.
[file content 12ab]
[3] tides.md
{"year":2026}
High water in Brest
is at nine.

[4] ports.md
Roscoff has ferries.
[end of file content 12ab]
Cite it as in [1]."""


async def searched(found):
    messages = [
        *user("When is it?")["messages"],
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
    ]
    messages.append({"role": "tool", "tool_call_id": "c", "content": found})
    return (await choice(messages=messages, tools=[SEARCH]))["message"]["content"]


async def test_it_searches_files_for_a_question():
    body = {"tools": [*TOOLS, SEARCH]}
    assert await called("Good day. When is it?", **body) == [
        ("file_search", {"queries": ["When is it?"]})
    ]
    assert await called("When?", tool_choice="required", **body) == [
        ("file_search", {"queries": ["When?"]})
    ]
    assert await names("When?\ncall send", tools=[*TOOLS, SEARCH]) == ["send"]


@pytest.mark.parametrize(
    ("text", "tools"), [("Good day.", [SEARCH]), ("When?", [tool("file_search")])]
)
async def test_it_searches_for_nothing_else_and_with_no_other_tool(text, tools):
    assert "received 1 message" in (await choice(text, tools=tools))["message"]["content"]


async def test_it_cites_the_best_passage_by_its_number():
    assert await searched(FOUND) == 'tides.md says: "High water in Brest is at nine." [3]'
    assert (await searched(FOUND.replace("nine", "nine " * 200))).endswith('nine nine…" [3]')
    assert (
        await searched("The search found nothing.")
        == "The tool returned: The search found nothing."
    )


async def test_it_answers_in_json_if_requested():
    content = (await choice(response_format={"type": "json_object"}))["message"]["content"]

    assert json.loads(content)["answer"].endswith("You said: Hello there")


WEATHER_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "w", "schema": WEATHER, "strict": True},
}


async def test_it_answers_a_sample_of_a_schema():
    content = (await choice("And in Rome?", response_format=WEATHER_FORMAT))["message"]["content"]

    assert json.loads(content) == {"city": "city", "unit": "celsius", "days": 1}


@pytest.mark.parametrize("response_format", [None, {"type": "json_object"}, WEATHER_FORMAT])
@pytest.mark.parametrize("written", ['{"city":  "Rome"}', "[1,\n 2]"])
async def test_it_answers_the_json_that_the_user_spells_out(response_format, written):
    answer = await choice(
        f"Please.\nanswer {written}", response_format=response_format, tools=TOOLS
    )

    assert answer["message"]["content"] == written


async def test_an_answer_that_is_spelled_out_comes_after_the_calls():
    messages = [
        {"role": "user", "content": 'call get_weather\nanswer {"done": true}'},
        *ANSWERED[1:],
    ]

    assert await names("", messages=messages[:1]) == ["get_weather"]
    assert (await choice(messages=messages, tools=TOOLS))["message"]["content"] == '{"done": true}'


async def test_it_refuses_if_instructed():
    answer = await choice("Please [refuse] this", tools=TOOLS)

    assert answer["message"]["content"] is None
    assert "I refuse" in answer["message"]["refusal"]
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

    assert answer["message"] == {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "reasoning_content": "The user",
    }
    assert answer["finish_reason"] == "length"


async def test_a_call_can_be_cut_by_the_limit():
    answer = await choice("call get_weather", max_tokens=3, tools=TOOLS)

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
    ("stop", "stated"),
    [
        ("scripted", "Antiphon's "),
        (["nowhere", ", A", "mo"], "I am de"),
        ("", "there"),
        (".*", "there"),
    ],
)
async def test_it_stops_before_a_stop_text(stop, stated):
    answer = await choice(stop=stop)

    assert answer["message"]["content"].endswith(stated)
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
        assert [one["logprob"] for one in tops] == sorted(
            (one["logprob"] for one in tops), reverse=True
        )
        assert not tops or (tops[0]["token"], tops[0]["logprob"]) == (
            entry["token"],
            entry["logprob"],
        )
        assert 0 < sum(math.exp(one["logprob"]) for one in [*tops, *([] if tops else [entry])]) <= 1


async def test_each_streamed_word_has_its_own_log_probability():
    parts = [one["choices"][0] for one in await chunks(logprobs=True)]

    assert sum("content" in part["delta"] for part in parts) > 5
    for part in parts:
        tokens = [entry["token"] for entry in part.get("logprobs", {"content": []})["content"]]
        assert tokens == ([part["delta"]["content"]] if "content" in part["delta"] else [])


async def test_log_probabilities_are_returned_only_on_request():
    assert (await choice())["logprobs"] is None


MESSAGES = user("Hello")
BAD_SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "#/nowhere"}}}


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
        (
            {"messages": [{"role": "nobody", "content": "x"}]},
            (400, "messages[0].role", "invalid_value"),
        ),
        (
            {"messages": [{"role": "user"}]},
            (400, "messages[0].content", "missing_required_parameter"),
        ),
        (part({"type": "smell"}), (400, "messages[0].content[0].type", "invalid_value")),
        (
            part(image_at("file:///x")),
            (400, "messages[0].content[0].image_url.url", "invalid_value"),
        ),
        (part(image_at(7)), (400, "messages[0].content[0].image_url.url", "invalid_type")),
        (
            part({"type": "image_url", "image_url": "file:///x"}),
            (400, "messages[0].content[0].image_url", "invalid_value"),
        ),
        (
            {"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]},
            (400, "messages[0].tool_call_id", "invalid_value"),
        ),
        ({**MESSAGES, "tool_choice": "required"}, (400, "tools", "missing_required_parameter")),
        (
            {**MESSAGES, "tools": TOOLS, "tool_choice": "some"},
            (400, "tool_choice", "invalid_value"),
        ),
        (
            {**MESSAGES, "response_format": {"type": "json_schema"}},
            (400, "response_format.json_schema", "missing_required_parameter"),
        ),
        ({**MESSAGES, "model": "gpt-4o"}, (404, "model", "model_not_found")),
        (
            {**MESSAGES, "tools": [{"type": "function"}]},
            (400, "tools[0].function", "missing_required_parameter"),
        ),
        (
            {**MESSAGES, "tools": [tool("f") | {"type": "custom"}]},
            (400, "tools[0].type", "invalid_value"),
        ),
        (
            {**MESSAGES, "tools": [tool("f", [1])]},
            (400, "tools[0].function.parameters", "invalid_type"),
        ),
        (
            {**MESSAGES, "tools": TOOLS, "tool_choice": named("x")},
            (400, "tool_choice", "invalid_value"),
        ),
        (
            {**MESSAGES, "tools": TOOLS, "tool_choice": {"type": "x"}},
            (400, "tool_choice", "invalid_value"),
        ),
        (
            {**MESSAGES, "tools": [tool("f", {"required": [[]]})], "tool_choice": "required"},
            (400, "tools", "invalid_value"),
        ),
        (
            {**MESSAGES, "response_format": {"type": "xml"}},
            (400, "response_format.type", "invalid_value"),
        ),
        ({**MESSAGES, "response_format": BAD_SCHEMA}, (400, "response_format", "invalid_value")),
    ],
)
async def test_a_malformed_request_is_refused(request_, refused):
    assert await refusal(**request_) == refused
    assert await refusal(**request_, stream=True) == refused


async def test_it_counts_the_words_that_an_answer_is_billed_for():
    reply, body = await post(f"{CHAT}/input_tokens", **user("one two three"))

    assert (reply.status, json.loads(body)["input_tokens"]) == (200, 3)


async def test_it_serves_nothing_else():
    assert await refusal("/embeddings", input="a") == (404, None, "unknown_url")
