"""Tools that were decoded before: the request is the same as if it was decoded alone, and so are
its errors.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.history.recent_inputs import RecentInputs
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.validation.known_tools import (
    MOST,
    decode_except_tools,
    decode_with_tools,
    remember,
)
from antiphon.protocol.validation.large_requests import decode_large
from antiphon.protocol.validation.validate import MAX_DEPTH, decode_request
from antiphon.protocol.websocket import decode_message, read_create
from antiphon.sharing.recent import Recent
from antiphon.sizes import LARGE
from tests.support.chance import examples

TIDE = {
    "type": "function",
    "name": "tide",
    "parameters": {"type": "object", "properties": {"port": {}}},
}
PATCH = {"type": "custom", "name": "patch", "format": {"type": "text"}}
NAMESPACE = {
    "type": "namespace",
    "name": "sea",
    "description": "",
    "tools": [TIDE | {"defer_loading": True}],
}
SEARCH = {"type": "tool_search", "execution": "client"}
BROKEN = [
    TIDE,
    TIDE,
    {"type": "function", "name": "wave"},
    {"type": "function"},
    NAMESPACE,
    {"type": "nothing"},
    7,
]

requests = st.fixed_dictionaries(
    {
        "model": st.just("m"),
        "input": st.sampled_from(["Hi", [{"role": "user", "content": "Hi"}], [{}], 7, None]),
    },
    optional={
        "tools": st.lists(st.sampled_from([TIDE, PATCH, SEARCH, *BROKEN]), max_size=3)
        | st.sampled_from([None, {}, "x"]),
        "tool_choice": st.sampled_from(
            ["auto", "required", {"type": "function", "name": "tide"}, 7]
        ),
        "top_k": st.just(1),
        "temprature": st.just(1),
        "metadata": st.just({"a": "b"}),
        "max_output_tokens": st.just(16.0),
    },
)


def memory() -> Recent[bytes, ToolList]:
    return Recent(1_000_000, lambda tools: tools.weight)


def outcome(decode: Any) -> str:
    """What comes of a body: the request, or the error."""
    try:
        return repr(decode())
    except ClientError as error:
        return repr(error.body())


MANY = msgspec.json.encode(
    [TIDE | {"name": f"tide_{number}", "description": "x" * 600} for number in range(120)]
)
"""Tools of more than `LARGE` bytes."""


def alongside(others: bytes, tools: bytes = MANY) -> bytes:
    return b'{"model":"m","tools":%b,%b}' % (tools, others)


@pytest.mark.parametrize(
    "others",
    [
        b'"input":"Hi"',
        b'"input":[{"role":"user","content":"Hi"}],"stream":true',
        b'"input":[{}]',
        b'"input":"Hi","temprature":1',
        b'"input":"Hi","metadata":{"a":%b}' % (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH),
        b'"input":"Hi","tools":[]',
        b'"input":"Hi",',
        b'"input":"%b"' % (b"x" * (LARGE - 100)),
    ],
)
def test_a_body_that_is_large_because_of_known_tools_is_the_same_at_once(others: bytes) -> None:
    known = memory()
    assert decode_except_tools(alongside(others), None, known, "a") is None
    remember(
        decode_large(alongside(b'"input":"Hi"'), None, known, RecentInputs(), "a")[0], known, "a"
    )

    found = outcome(lambda: decode_except_tools(alongside(others), None, known, "a"))
    assert found in ("None", outcome(lambda: decode_request(alongside(others))))
    assert decode_except_tools(alongside(others), None, known, "b") is None


@pytest.mark.parametrize(
    "body",
    [
        alongside(b'"input":"%b"' % (b"x" * LARGE)),
        alongside(b'"input":"Hi"', MANY.replace(b"tide", b"wave")),
        alongside(b'"input":"%b"' % (b"x" * LARGE), b"[]"),
        alongside(b'"input":"%b"' % (b"x" * MOST)),
    ],
)
def test_other_large_bodies_are_decoded_in_a_thread(body: bytes) -> None:
    known = memory()
    remember(
        decode_large(alongside(b'"input":"Hi"'), None, known, RecentInputs(), "a")[0], known, "a"
    )

    assert decode_except_tools(alongside(b'"input":"Hi"'), None, known, "a") is not None
    assert decode_except_tools(body, None, known, "a") is None


@pytest.mark.parametrize("levels", range(MAX_DEPTH - 2, MAX_DEPTH + 2))
@pytest.mark.parametrize("form", [b"[%b%b]", b'{"a":%b%b}', b"[[1],%b%b]"])
def test_a_body_with_known_tools_is_as_deep_as_any(levels: int, form: bytes) -> None:
    known = memory()
    tools = msgspec.json.encode([TIDE])
    deep = form % (b"[" * levels, b"]" * levels)
    body = b'{"model":"m","input":"Hi","tools":%b,"metadata":%b}' % (tools, deep)
    decode_with_tools(b'{"model":"m","input":"Hi","tools":%b}' % tools, None, known, "a")

    assert outcome(lambda: decode_with_tools(body, None, known, "a")) == outcome(
        lambda: decode_request(body)
    )


@examples(200)
@given(st.lists(requests, min_size=1, max_size=4))
def test_a_request_is_the_same_whatever_came_before_it(sent: list[dict[str, Any]]) -> None:
    known = memory()
    for request in [*sent, *sent]:
        body = msgspec.json.encode(request)
        assert outcome(
            lambda body=body: decode_with_tools(body, "top_k".__eq__, known, "a")
        ) == outcome(lambda body=body: decode_request(body, "top_k".__eq__))


def decoded_large(body: bytes, known: Recent[bytes, ToolList], tenant: str = "a") -> CreateResponse:
    """A body as a thread and then the event loop decode it."""
    request, _ = decode_large(body, "top_k".__eq__, known, RecentInputs(), tenant)
    remember(request, known, tenant)
    return request


@examples(100)
@given(
    st.lists(requests, min_size=1, max_size=3), st.sampled_from([LARGE, 3 * LARGE]), st.booleans()
)
def test_so_is_a_large_request(sent: list[dict[str, Any]], size: int, is_first: bool) -> None:
    known = memory()
    padding = {"instructions": "x" * size}
    for request in [*sent, *sent]:
        body = msgspec.json.format(
            msgspec.json.encode(padding | request if is_first else request | padding)
        )
        assert outcome(lambda body=body: decoded_large(body, known)) == outcome(
            lambda body=body: decode_request(body, "top_k".__eq__)
        )


@pytest.mark.parametrize("size", [LARGE, 3 * LARGE])
def test_the_tools_of_large_requests_are_decoded_once_for_each_tenant(size: int) -> None:
    known = memory()
    body = msgspec.json.encode({"model": "m", "input": "x" * size, "tools": [TIDE, PATCH]})
    first, second, other = (decoded_large(body, known, tenant) for tenant in "aab")
    assert first.tools is second.tools is not other.tools
    small = msgspec.json.encode({"model": "m", "input": "Hi", "tools": [TIDE, PATCH]})
    assert decode_with_tools(small, None, known, "a").tools is first.tools


def test_the_last_of_two_tool_lists_counts_in_a_large_request_too() -> None:
    known = memory()
    one, other = (
        msgspec.json.encode([{"type": "function", "name": name}]) for name in ("tide", "wave")
    )
    twice = b'{"model":"m","input":"%b","tools":%b,"tools":%b}' % (b"x" * LARGE, one, other)
    long = b'{"model":"m","input":"%b","tools":%b,"tools":[%b%b]}' % (
        b"x" * LARGE,
        one,
        b" " * 3 * LARGE,
        other[1:-1],
    )
    for body in (twice, long, twice, long):
        assert repr(decoded_large(body, known)) == repr(decode_request(body))
    first = b'{"model":"m","input":"Hi","tools":%b}' % one
    assert repr(decode_with_tools(first, None, known, "a")) == repr(decode_request(first))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"tools":',
        b'{"model":"m","input":"Hi","tools":[{"type":"function","name":"a"}],"tools":null}',
        b'{"tools":[{"type":"function","name":"a"}],"model":"m","input":"\xff"}',
        b'{"tools":[{"type":"function","name":"a"}],"model":"m","input":"Hi","temperature":1e999}',
        b'{"tools":[{"type":"function","name":"a"}],"model":"m","input":"Hi","metadata":%b}'
        % (b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH),
    ],
)
def test_other_bytes_have_the_same_error(body: bytes) -> None:
    known = memory()
    decode_with_tools(
        b'{"model":"m","input":"Hi","tools":[{"type":"function","name":"a"}]}', None, known, "a"
    )
    assert outcome(lambda: decode_with_tools(body, None, known, "a")) == outcome(
        lambda: decode_request(body)
    )


def test_the_same_tools_are_decoded_once_for_each_tenant() -> None:
    known = memory()
    body = msgspec.json.encode({"model": "m", "input": "Hi", "tools": [TIDE, PATCH]})
    other = msgspec.json.encode({"tools": [TIDE, PATCH], "input": "Ho", "model": "n"})
    first, second, third = (
        decode_with_tools(each, None, known, "a") for each in (body, other, body)
    )
    assert first.tools is second.tools is third.tools
    assert decode_with_tools(body, None, known, "b").tools is not first.tools


def test_tools_with_credentials_are_not_cached() -> None:
    server = {
        "type": "mcp",
        "server_label": "sea",
        "server_url": "https://sea.example",
        "authorization": "secret",
    }
    known = memory()
    body = msgspec.json.encode({"model": "m", "input": "Hi", "tools": [TIDE, server]})
    assert (
        decode_with_tools(body, None, known, "a").tools
        is not decode_with_tools(body, None, known, "a").tools
    )
    assert known.size == 0


def test_tools_are_cached_within_their_bytes() -> None:
    known = memory()
    for number in range(1000):
        tools = [TIDE | {"name": f"tide_{number}", "description": "x" * 1000}]
        decode_with_tools(
            msgspec.json.encode({"model": "m", "input": "Hi", "tools": tools}), None, known, "a"
        )
    assert 500_000 < known.size < 1_000_000


def test_a_fact_is_computed_again_for_other_inputs_alone() -> None:
    tools = ToolList([])
    one = object()
    other = object()
    facts = [tools.fact("sum", (each,), object) for each in (one, one, other, other, one)]
    assert facts[0] is facts[1]
    assert facts[2] is facts[3]
    assert len({*map(id, facts)}) == 3


def test_messages_of_a_websocket_share_the_tools_with_each_other_and_with_requests() -> None:
    known = memory()
    body = {"model": "m", "input": "Hi", "tools": [TIDE, PATCH]}
    for size in (0, 0, LARGE, 3 * LARGE):
        message = msgspec.json.encode(
            {"type": "response.create", **body, "instructions": "x" * size}
        )
        data, json = decode_message(message, known, "a")
        request = read_create(data, tools=json).request
        remember(request, known, "a")
        assert request.tools is decode_with_tools(msgspec.json.encode(body), None, known, "a").tools
        assert repr(request) == repr(read_create(msgspec.json.decode(message)).request)
