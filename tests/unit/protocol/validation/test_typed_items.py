"""Items that their types read at once: the same data and the same errors as of plain data."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from antiphon.errors import ClientError
from antiphon.protocol.known_inputs import KINDS, KnownInput, SentItems
from antiphon.protocol.validation.large_requests import decode_large
from antiphon.protocol.validation.typed_items import (
    FREE_ITEMS,
    FREE_PARTS,
    TypedItems,
    read_items,
)
from antiphon.protocol.validation.validate import decode_request
from antiphon.sharing.recent import Recent
from antiphon.sizes import LARGE
from tests.support.chance import examples

MESSAGE = '{"type":"message","role":"user","content":"%s"}'
CALL = '{"type":"function_call","call_id":"c","name":"f","arguments":"{}"%s}'
QUOTED = '"X"'
OUTPUT = '{"type":"function_call_output","call_id":"c","output":%s}'
LONG = ",".join([MESSAGE % ("é\\n" * 1_000)] * (LARGE // 3_000))
"""The beginning of an input that is large, of items that are not."""

ITEMS = st.sampled_from(
    [
        MESSAGE % "Hi",
        '{"role":"user","content":"Hi"}',
        '{"role":"user","content":"Hi","type":"message"}',
        '{"type":"message","role":"user","content":[{"type":"input_text","text":"]"}],"id":"msg_1"}',
        '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Ho"}]}',
        '{"type":"message","role":"user","content":"Hi","phase":"commentary"}',
        '{"type":"message","role":"user","type":"reasoning","content":"Hi"}',
        '{"type":"reasoning","type":"message","role":"user","content":"Hi"}',
        '{"type":"message","role":"user","content":1,"content":"Hi"}',
        '{"type":"message","role":"user","content":"a","content":"b"}',
        '{"type":"message","role":"user","content":[{"type":"output_text","text":"Ho"}]}',
        MESSAGE % "\\ud800",
        '{"type":"message","role":"user","content":"Hi","id":"msg_\\u0000"}',
        '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}',
        CALL % "",
        CALL % ',"async_":true',
        CALL % ',"async":true,"async":null',
        CALL % ',"parsed_arguments":1e999',
        CALL % ',"parsed_arguments":[1.0,{"a":2e3}]',
        CALL % ',"call_id":""',
        OUTPUT % f'"{"→ " * 200}"',
        OUTPUT % '[{"type":"input_text","text":"é"}]',
        OUTPUT % '"1","unknown":{"a":1}',
        '{"type":"function_call_output","output":"1"}',
        '{"type":"item_reference","id":"msg_9"}',
        '{"type":"compaction_trigger"}',
        '{"type":"unknown"}',
        "7",
    ]
)


class Known:
    """What one server has in memory."""

    def __init__(self) -> None:
        self.tools: Any = Recent(1_000_000, lambda tools: tools.weight)
        self.inputs: dict[object, KnownInput] = {}

    def of(self, tenant: str) -> list[KnownInput]:
        return [*self.inputs.values()]

    def put(self, tenant: str, known: KnownInput) -> None:
        self.inputs[known.key] = known

    def decode(self, body: bytes) -> Any:
        request, sent = decode_large(body, None, self.tools, self, "a")
        if sent is not None:
            self.put("a", sent)
        return request


def outcome(decode: Any, body: bytes) -> str:
    """The request or the error."""
    try:
        return repr(decode(body))
    except ClientError as error:
        return repr(error.body())


def body_of(items: str, more: str = "") -> bytes:
    return f'{{"model":"m","store":false{more},"input":[{items}]}}'.encode("utf-8", "surrogatepass")


@examples(100)
@given(
    st.lists(st.lists(ITEMS, max_size=3), min_size=1, max_size=3),
    st.sampled_from(["", ',"temperature":3', ',"text":7', ',"unknown":1']),
)
def test_items_with_types_are_read_as_plain_data_is(turns: list[list[str]], more: str) -> None:
    known = Known()
    sent = [LONG]
    for turn in turns:
        sent = [*sent, *turn]
        body = body_of(",".join(sent), more)
        assert outcome(known.decode, body) == outcome(decode_request, body)


def test_a_broken_character_is_an_error() -> None:
    body = body_of(f"{LONG},{MESSAGE % 'XX'}").replace(b"XX", b"\xff")
    assert "UTF-8" in outcome(Known().decode, body)
    assert outcome(Known().decode, body) == outcome(decode_request, body)


DEEP = '{"a":%s}' % ("[" * 600 + "]" * 600)
NOTE, CALLER, ARGUMENTS = FREE_ITEMS
TEXT = {"type": "input_text", "text": "t"}
SPOKEN = {"type": "output_text", "text": "t"}
NESTED: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": "t", NOTE: "X"},
    {"type": "reasoning", "summary": [], NOTE: "X"},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", NOTE: "X"},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "", ARGUMENTS: "X"},
    *(
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "", CALLER: value}
        for value in ("X", {"type": "direct", "a": "X"})
    ),
    {"type": "function_call_output", "call_id": "c", "output": "t", NOTE: "X"},
    {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "t", NOTE: "X"},
    {"type": "custom_tool_call_output", "call_id": "c", "output": "t", NOTE: "X"},
    {"type": "function_call_output", "call_id": "c", "output": [{**TEXT, FREE_PARTS[3]: "X"}]},
    {"type": "custom_tool_call_output", "call_id": "c", "output": [{**TEXT, FREE_PARTS[3]: "X"}]},
    {"type": "message", "role": "user", "content": [{**TEXT, FREE_PARTS[3]: "X"}]},
    *(
        {"type": "message", "role": "assistant", "content": [{**SPOKEN, name: value}]}
        for name, value in {"annotations": ["X"], "logprobs": ["X"], "parsed": "X"}.items()
    ),
]
"""One item for each place in which a client can nest data."""


@pytest.mark.parametrize("item", NESTED)
def test_items_with_types_can_be_no_deeper_than_others(item: dict[str, Any]) -> None:
    json = msgspec.json.encode(item).decode()
    shallow, deep = (body_of(f"{LONG},{json.replace(QUOTED, value)}") for value in ("{}", DEEP))
    assert "nested too deeply" in outcome(Known().decode, deep)
    assert outcome(Known().decode, deep) == outcome(decode_request, deep)
    assert outcome(Known().decode, shallow) == outcome(decode_request, shallow)


def test_the_places_where_a_client_can_nest_data_are_known() -> None:
    found = set[str]()

    def visit(kind: inspect.Type, name: str) -> None:
        match kind:
            case inspect.AnyType() | inspect.DictType():
                found.add(name)
            case inspect.UnionType(types=types):
                for one in types:
                    visit(one, name)
            case inspect.ListType(item_type=inner) | inspect.Metadata(type=inner):
                visit(inner, name)
            case inspect.StructType(fields=fields):
                for field in fields:
                    visit(field.type, field.encode_name)

    for kind in KINDS:
        visit(inspect.type_info(kind), "")
    assert found == {*FREE_PARTS, *FREE_ITEMS}


def read(items: str) -> list[Any]:
    return read_items(f"[{items}]".encode(), 0)[0]


def test_long_outputs_that_are_not_ascii_keep_their_json() -> None:
    sent = [
        '"%s"' % ("→ \\u2192 \\/ \\n" * 99),
        '"%s"' % ("x" * 999),
        '"→"',
        '[{"type":"input_text","text":"%s"}]' % ("→" * 999),
    ]
    items = read(",".join([LONG, *(OUTPUT % output for output in sent)]))
    assert isinstance(items, TypedItems)
    assert [(text, bytes(json).decode()) for text, json in items.texts.values()] == [
        (msgspec.json.decode(sent[0]), sent[0])
    ]
    assert getattr(items[-4], "output", None) is next(iter(items.texts.values()))[0]


def test_only_what_follows_a_known_input_is_read_for_its_texts() -> None:
    known = Known()
    output = OUTPUT % f'"{"→" * 999}"'
    first = known.decode(body_of(f"{LONG},{CALL % ''},{output}")).input
    second = known.decode(body_of(f"{LONG},{CALL % ''},{output},{LONG},{MESSAGE % 'Hi'}")).input
    assert isinstance(first, SentItems)
    assert isinstance(second, SentItems)
    assert [len(first.texts), len(second.texts)] == [1, 0]


def test_an_item_without_its_type_makes_all_of_them_plain_data() -> None:
    assert type(read(f'{LONG},{{"role":"user","content":"Hi"}}')) is list
