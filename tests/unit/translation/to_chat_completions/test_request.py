import json
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.protocol.requests import CreateResponse
from antiphon.translation.dialects.dialect import USUAL, Dialect
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.request import (
    CHAT_PARAMETERS,
    PARAMETERS,
    normalise_input,
    responses_parameter,
    to_chat,
)
from tests.support.chance import examples

FULL = DIALECTS["demo"]
BARE = Dialect("bare", accepts=frozenset(), max_tokens="")
TOOL = {
    "type": "function",
    "name": "f",
    "description": "d",
    "parameters": {"type": "object"},
    "strict": True,
}
OTHER = {"type": "function", "name": "g"}
SCHEMA = {
    "type": "json_schema",
    "name": "s",
    "schema": {"type": "object"},
    "strict": True,
    "description": "A thing.",
}


def request(dialect=FULL, dropped=(), **fields):
    request = msgspec.convert({"model": "m", "input": "hi", **fields}, CreateResponse)
    items = normalise_input(request.input, lambda prefix: f"{prefix}_1")
    return to_chat(request, items, dialect, frozenset(dropped))


def refusal(dialect, dropped=(), **fields):
    with pytest.raises(ClientError) as caught:
        request(dialect, dropped, **fields)
    assert caught.value.status == 400
    return caught.value


def test_a_bare_request_sends_no_defaults():
    bare = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    for dialect in DIALECTS.values():
        expected = streamed if dialect.always_streams else {"stream": False}
        assert request(dialect) == {**bare, **expected}


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"temperature": 0}, {"temperature": 0}),
        ({"top_p": 0.5}, {"top_p": 0.5}),
        (
            {"presence_penalty": 1, "frequency_penalty": -1},
            {"presence_penalty": 1, "frequency_penalty": -1},
        ),
        ({"max_output_tokens": 16}, {"max_tokens": 16}),
        ({"top_logprobs": 3}, {"logprobs": True, "top_logprobs": 3}),
        ({"include": ["message.output_text.logprobs"]}, {"logprobs": True}),
        ({"include": ["reasoning.encrypted_content"], "top_logprobs": 0}, {}),
        ({"reasoning": {"effort": "high", "summary": "auto"}}, {"reasoning_effort": "high"}),
        ({"text": {"verbosity": "low"}}, {"verbosity": "low"}),
        ({"text": {"format": {"type": "text"}}}, {}),
        (
            {"text": {"format": {"type": "json_object"}}},
            {"response_format": {"type": "json_object"}},
        ),
        ({"user": "u", "safety_identifier": "s"}, {"user": "u", "safety_identifier": "s"}),
        ({"prompt_cache_key": "k"}, {"prompt_cache_key": "k"}),
        ({"prompt_cache_retention": "in-memory"}, {"prompt_cache_retention": "in_memory"}),
        ({"service_tier": "fast"}, {"service_tier": "priority"}),
        ({"service_tier": "flex"}, {"service_tier": "flex"}),
        ({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}),
        ({"stream": False}, {"stream": False}),
        ({"metadata": {"a": "b"}, "store": True, "truncation": "auto", "max_tool_calls": 3}, {}),
        ({"parallel_tool_calls": False, "tool_choice": "auto"}, {}),
    ],
)
def test_a_parameter_that_the_client_set_is_sent_under_its_chat_name(fields, sent):
    body = request(**fields)

    rest = {key: value for key, value in body.items() if key not in {"model", "messages"}}
    assert rest == {"stream": False} | sent


def test_hints_are_left_out_where_the_backend_does_not_take_them():
    hints = {
        "temperature": 1,
        "top_p": 1,
        "user": "u",
        "service_tier": "flex",
        "text": {"verbosity": "low"},
    }

    assert request(BARE, **hints, reasoning={"effort": "low"}, stream=True) == request(BARE) | {
        "stream": True
    }


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"max_output_tokens": 20}, "max_output_tokens"),
        ({"tools": [TOOL]}, "tools"),
    ],
)
def test_what_the_client_would_miss_is_refused_by_name(fields, param):
    error = refusal(BARE, **fields)

    assert (error.param, error.code) == (param, "unsupported_parameter")
    assert str(error) == f"Unsupported parameter: '{param}' is not supported with this model."


@pytest.mark.parametrize(
    ("dialect", "effort", "sent"),
    [
        ("openai", "xhigh", {"reasoning_effort": "xhigh"}),
        ("gemini", "max", {"reasoning_effort": "high"}),
        ("groq", "minimal", {"reasoning_effort": "none"}),
        ("openrouter", "low", {"reasoning": {"effort": "low"}}),
        ("snowflake", "none", {"reasoning": {"effort": "low"}}),
        ("deepseek", "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("zai", "none", {"thinking": {"type": "disabled"}}),
        ("alibaba", "none", {"enable_thinking": False}),
        ("alibaba", "medium", {"enable_thinking": True}),
    ],
)
def test_effort_is_sent_in_the_form_of_the_dialect_and_by_the_nearest_word(dialect, effort, sent):
    body = request(DIALECTS[dialect], reasoning={"effort": effort})

    rest = {key: value for key, value in body.items() if key not in {"model", "messages"}}
    assert rest == {"stream": False} | sent


def test_tools_are_wrapped_and_strictness_is_sent_if_supported():
    function = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}

    assert request(FULL, tools=[TOOL])["tools"] == [
        {"type": "function", "function": function | {"strict": True}}
    ]
    assert request(DIALECTS["llamacpp"], tools=[TOOL])["tools"] == [
        {"type": "function", "function": function}
    ]
    assert request(FULL, ["strict"], tools=[TOOL])["tools"] == [
        {"type": "function", "function": function}
    ]


def test_a_tool_without_parameters_takes_an_empty_object():
    assert request(tools=[OTHER])["tools"] == [
        {
            "type": "function",
            "function": {"name": "g", "parameters": {"type": "object", "properties": {}}},
        }
    ]


NAMED = {"type": "function", "name": "g"}
ALLOWED = {"type": "allowed_tools", "mode": "required", "tools": [NAMED]}
CHAT_NAMED = {"type": "function", "function": {"name": "g"}}


@pytest.mark.parametrize(
    ("form", "choice", "tools", "sent"),
    [
        ("full", None, "fg", None),
        ("full", "auto", "fg", "auto"),
        ("full", "none", "fg", "none"),
        ("full", NAMED, "fg", CHAT_NAMED),
        (
            "full",
            ALLOWED,
            "fg",
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [CHAT_NAMED]}},
        ),
        ("named", NAMED, "fg", CHAT_NAMED),
        ("named", ALLOWED, "g", "required"),
        ("named", ALLOWED | {"mode": "auto"}, "g", "auto"),
        ("strings", "required", "fg", "required"),
        ("strings", NAMED, "g", "required"),
        ("strings", ALLOWED, "g", "required"),
        ("functions", "auto", "fg", "auto"),
        ("functions", NAMED, "fg", CHAT_NAMED),
        ("functions", ALLOWED, "g", CHAT_NAMED),
        ("unaccepted", "auto", "fg", None),
        ("unaccepted", "none", "", None),
        ("unaccepted", ALLOWED | {"mode": "auto"}, "g", None),
    ],
)
def test_every_choice_is_sent_or_replaced_by_sending_fewer_tools(form, choice, tools, sent):
    dialect = (
        replace(FULL, accepts=USUAL - {"tool_choice"})
        if form == "unaccepted"
        else replace(FULL, tool_choice=form)
    )

    body = request(dialect, tools=[TOOL, OTHER], tool_choice=choice)

    assert "".join(tool["function"]["name"] for tool in body.get("tools", ())) == tools
    assert body.get("tool_choice") == sent


@pytest.mark.parametrize("choice", ["required", NAMED, ALLOWED])
def test_a_call_that_cannot_be_forced_is_refused(choice):
    error = refusal(FULL, ["tool_choice"], tools=[TOOL, OTHER], tool_choice=choice)

    assert (error.param, error.code) == ("tool_choice", "unsupported_value")


def test_where_only_a_function_can_be_demanded_any_of_several_cannot():
    named_only = replace(FULL, tool_choice="functions")

    assert request(named_only, tools=[OTHER], tool_choice="required")["tool_choice"] == CHAT_NAMED
    error = refusal(named_only, tools=[TOOL, OTHER], tool_choice="required")
    assert (error.param, error.code) == ("tool_choice", "unsupported_value")


def test_a_choice_that_names_no_tool_is_refused():
    for dialect in DIALECTS.values():
        if "tools" in dialect.accepts:
            error = refusal(dialect, tools=[TOOL], tool_choice=NAMED)
            assert (str(error), error.param) == (
                "Tool choice 'g' not found in 'tools' parameter.",
                "tool_choice",
            )


def test_a_schema_is_sent_whole_where_it_is_taken():
    sent = {"name": "s", "schema": {"type": "object"}, "description": "A thing.", "strict": True}

    assert request(text={"format": SCHEMA})["response_format"] == {
        "type": "json_schema",
        "json_schema": sent,
    }


@pytest.mark.parametrize(
    ("formats", "wanted", "sent", "reported"),
    [
        ({"json_object"}, SCHEMA, {"type": "json_object"}, True),
        (
            {"json_object", "json_object_schema"},
            SCHEMA,
            {"type": "json_object", "schema": {"type": "object"}},
            False,
        ),
        (set(), SCHEMA, None, True),
        (set(), {"type": "json_object"}, None, True),
        (
            {"json_schema"},
            {"type": "json_object"},
            {
                "type": "json_schema",
                "json_schema": {"name": "object", "schema": {"type": "object"}},
            },
            False,
        ),
    ],
)
def test_an_unsupported_format_is_weakened_and_described_in_words(formats, wanted, sent, reported):
    body = request(
        replace(FULL, json_formats=frozenset(formats)),
        text={"format": wanted},
        instructions="Be kind.",
    )

    assert body.get("response_format") == sent
    system = body["messages"][0]["content"]
    assert system.startswith("Be kind.")
    assert ("JSON object" in system) is reported
    assert ('{"type":"object"}' in system) is (reported and wanted is SCHEMA)


def test_a_refused_format_is_described_in_words():
    body = request(FULL, ["response_format"], text={"format": SCHEMA})

    assert "response_format" not in body
    assert body["messages"][0]["role"] == "system"


def test_a_parameter_refused_before_is_omitted_or_sent_by_its_other_name():
    body = request(
        DIALECTS["openai"],
        ["temperature", "max_completion_tokens"],
        temperature=1,
        max_output_tokens=20,
    )

    assert "temperature" not in body
    assert body["max_tokens"] == 20


def test_every_chat_parameter_leads_back_to_a_field_of_the_request():
    fields = set(CreateResponse.__struct_fields__)

    assert {name.partition(".")[0] for name in CHAT_PARAMETERS.values()} <= fields
    assert {parameter.chat for parameter in PARAMETERS} <= CHAT_PARAMETERS.keys()


@pytest.mark.parametrize(
    ("chat", "name"),
    [
        ("max_completion_tokens", "max_output_tokens"),
        ("messages[0].content", "input"),
        ("stream_options.include_usage", "stream"),
        ("body.response_format", "text.format"),
        ("n", None),
        ("", None),
    ],
)
def test_a_backends_complaint_is_named_in_the_clients_terms(chat, name):
    assert responses_parameter(chat) == name


PARTS = st.one_of(
    st.builds(lambda text: {"type": "input_text", "text": text}, st.text(max_size=5)),
    st.builds(
        lambda detail: {"type": "input_image", "image_url": "u", "detail": detail},
        st.sampled_from(["low", None]),
    ),
    st.just({"type": "input_image"}),
    st.builds(
        lambda data, name: {"type": "input_file", "file_data": data, "filename": name},
        st.sampled_from(["aGk=", "!", "", "data:text/plain;base64,aGk=", "data:,x"]),
        st.sampled_from(["a.txt", "a.pdf", "", None]),
    ),
    st.builds(lambda url: {"type": "input_file", "file_url": url}, st.text(max_size=5)),
    st.builds(lambda text: {"type": "output_text", "text": text}, st.text(max_size=5)),
    st.builds(lambda text: {"type": "refusal", "refusal": text}, st.text(max_size=5)),
)
CALL_IDS = st.sampled_from(["a", "b", "ü"])
ITEMS = st.one_of(
    st.builds(
        lambda role, content: {"type": "message", "role": role, "content": content},
        st.sampled_from(["user", "assistant", "system", "developer"]),
        st.text(max_size=5) | st.lists(PARTS, max_size=3),
    ),
    st.builds(
        lambda call_id, arguments: {
            "type": "function_call",
            "call_id": call_id,
            "name": "f",
            "arguments": arguments,
        },
        CALL_IDS,
        st.text(max_size=5),
    ),
    st.builds(
        lambda call_id, output: {
            "type": "function_call_output",
            "call_id": call_id,
            "output": output,
        },
        CALL_IDS,
        st.text(max_size=5)
        | st.lists(PARTS.filter(lambda part: part["type"].startswith("input")), max_size=3),
    ),
    st.builds(
        lambda words, blob: {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": words}],
            "encrypted_content": blob,
        },
        st.text(max_size=5),
        st.none() | st.sampled_from(["", "ar1.x"]),
    ),
    st.just({"type": "item_reference", "id": "msg_1"}),
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.lists(st.sampled_from([TOOL, OTHER]), max_size=2),
        "tool_choice": st.sampled_from(["none", "auto", "required", NAMED, ALLOWED]),
        "text": st.sampled_from(
            [{"format": SCHEMA}, {"format": {"type": "json_object"}}, {"verbosity": "low"}]
        ),
        "reasoning": st.builds(
            lambda effort, context: {"effort": effort, "context": context},
            st.sampled_from(["none", "max", None]),
            st.sampled_from(["auto", "current_turn", "all_turns", None]),
        ),
        "top_logprobs": st.integers(0, 20),
        "max_output_tokens": st.integers(16, 99),
        "instructions": st.text(max_size=5),
        "stream": st.booleans(),
    },
)


@examples(200)
@given(
    st.lists(ITEMS, max_size=8),
    SETTINGS,
    st.sampled_from(sorted(DIALECTS)),
    st.frozensets(
        st.sampled_from([*USUAL, "max_tokens", "messages.reasoning", "+reasoning_content"]),
        max_size=3,
    ),
)
def test_whatever_decodes_becomes_json_or_a_client_error(raw, fields, name, dropped):
    try:
        body = request(DIALECTS[name], dropped, **{**fields, "input": raw})
    except ClientError as error:
        assert 400 <= error.status < 500
    else:
        assert json.loads(msgspec.json.encode(body)) == body
        assert "" not in body
