"""What clients send: it is read or refused with a 400, and another way to read it says the same."""

import json
from collections.abc import Callable, Iterable
from typing import Any
from unittest.mock import patch

import msgspec

from antiphon.access.keyring import Keyring
from antiphon.errors import ClientError
from antiphon.protocol import json_members, json_slices, json_texts
from antiphon.protocol.known_inputs import KnownInput
from antiphon.protocol.messages.decoding import decode_create
from antiphon.protocol.validation.known_tools import decode_with_tools
from antiphon.protocol.validation.large_requests import decode_large
from antiphon.protocol.validation.validate import decode_chat_request, decode_request
from antiphon.query.completion import read_prefix, values
from antiphon.query.response_filters import FilterError, parse_filters
from antiphon.server.multipart import FormParser
from antiphon.sharing.recent import Recent
from antiphon.translation.broken_json import repaired
from antiphon.translation.chat_front.request import read_chat
from antiphon.translation.from_messages.request import read_request
from antiphon.translation.from_messages.view import read_call
from tests.fuzz.targets import Target, cut

SMALL = (
    patch.multiple(json_slices, SLICE=24, WINDOW=16, LONG=24),
    patch.multiple(json_texts, LONG=24, STRING_WINDOW=16),
    patch.multiple(json_members, SLICE=48, LONG=24, SMALL=2, FEW=4),
)
"""What makes short JSON large."""


class _Memory:
    """The inputs that one client has sent."""

    def __init__(self) -> None:
        self.known: list[KnownInput] = []

    def of(self, _tenant: str) -> list[KnownInput]:
        return self.known

    def put(self, _tenant: str, known: KnownInput) -> None:
        self.known.append(known)


def request(data: bytes) -> None:
    """`POST /responses`: the same in one step, in slices, and sent again behind itself."""
    expected = _outcome(decode_request, data)
    tools: Any = Recent(1_000_000, lambda one: one.weight)
    memory = _Memory()

    def in_slices(body: bytes) -> Any:
        found, sent = decode_large(body, None, tools, memory, "t")
        if sent is not None:
            memory.put("t", sent)
        return found

    for enter in SMALL:
        enter.start()
    try:
        assert _outcome(in_slices, data) == expected
        assert _outcome(in_slices, data) == expected
    finally:
        for leave in SMALL:
            leave.stop()
    for _ in range(2):
        assert _outcome(lambda body: decode_with_tools(body, None, tools, "t"), data) == expected


def _outcome(decode: Callable[[bytes], Any], body: bytes) -> str:
    try:
        return repr(decode(body))
    except ClientError as error:
        assert error.status == 400
        return repr(error.body())


def chat(data: bytes) -> None:
    """`POST /chat/completions` over a run."""
    try:
        body = decode_chat_request(data)
        read_chat(body, lambda _: ())
    except ClientError as error:
        msgspec.json.encode(error.body())


_CALL = read_call([("anthropic-version", "2023-06-01")])


def messages(data: bytes) -> None:
    """`POST /messages`."""
    try:
        read_request(decode_create(data), _CALL)
    except ClientError as error:
        msgspec.json.encode(error.body())


def form(data: bytes) -> None:
    """A form with a file: the same however it is cut."""
    whole, pieces = cut(data)
    assert _parts([whole]) == _parts(pieces)


def _parts(pieces: Iterable[bytes]) -> Any:
    parser = FormParser(b"x-7")
    found: list[Any] = []
    try:
        for piece in pieces:
            for event in parser.feed(piece):
                if isinstance(event, bytes) and found and isinstance(found[-1], bytes):
                    found[-1] += event
                else:
                    found.append(event)
        parser.finish()
    except ClientError:
        return None
    return found


_RING = Keyring([bytes(32)])
_SEALED = _RING.seal({"reasoning": {"reasoning_content": "Hm"}}, "t")


def sealed(data: bytes) -> None:
    """Sealed state: nothing that was changed opens."""
    text = data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
    state = _RING.unseal(text, "t")
    assert state is None or text == _SEALED or _RING.unseal(text, "t") == state
    assert _RING.unseal(text, "other") is None


def filters(data: bytes) -> None:
    """The line of filters of the console and the admin API, and its completion."""
    line = data.decode("utf-8", "replace")
    try:
        parse_filters(line, 1.7e9)
    except FilterError as error:
        assert str(error)
    for term, _ in values(read_prefix("model:"), {line: 1}):
        assert parse_filters(term, 1.7e9).conditions


def arguments(data: bytes) -> None:
    """Arguments of a call that are not JSON: what is repaired is an object."""
    text = data.decode("utf-8", "replace")
    value = repaired(text)
    assert value is None or json.loads(msgspec.json.encode(value)) == value


BODY = json.dumps(
    {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi é"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "1"},
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "Yes", "annotations": []}]},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
        "tool_choice": "auto",
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
        "reasoning": {"effort": "low"},
        "stream": True,
        "store": False,
        "metadata": {"a": "b"},
        "temperature": 0.5,
        "max_output_tokens": 50,
        "include": ["reasoning.encrypted_content"],
    },
    ensure_ascii=False,
).encode()  # fmt: skip

CHAT = json.dumps(
    {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hi"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "1"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "stop": ["a"], "logprobs": True, "top_logprobs": 2, "stream": True, "n": 1,
        "stream_options": {"include_usage": True}, "reasoning_effort": "low", "verbosity": "low",
        "web_search_options": {"user_location": {"type": "approximate", "approximate": {}}},
        "functions": [{"name": "g"}], "function_call": {"name": "g"},
    }
).encode()  # fmt: skip

MESSAGE = json.dumps(
    {
        "model": "m", "max_tokens": 50, "stream": True,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "x"},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [
                    {"type": "text", "text": "1"}], "is_error": False},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                             "data": "AAAA"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain",
                                                "data": "x"}, "citations": {"enabled": True}}]},
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object"}, "strict": True},
                  {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 1024}, "stop_sequences": ["a"],
        "metadata": {"user_id": "u"}, "context_management": {"edits": [
            {"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 3}}]},
    }
).encode()  # fmt: skip

FORM = (
    b'--x-7\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--x-7\r\n'
    b'Content-Disposition: form-data; name="file"; filename="a%22.txt"\r\n'
    b"Content-Type: text/plain\r\n\r\nHello\r\n-\r\n--x-\r\n--x-7--\r\n"
)

LINE = b'status:failed,cancelled -model:"a b" tool:web* cost:>0.5 since:2026-11-28 OR x tag:a=b'


def _words(seed: bytes) -> list[bytes]:
    return sorted({b'"%b"' % word for word in seed.split(b'"')[1::2] if word})


TARGETS = (
    Target("request", request, [BODY], [*_words(BODY), b"},{", b"\\ud83d", b"null"]),
    Target("chat-request", chat, [CHAT], _words(CHAT)),
    Target("messages-request", messages, [MESSAGE], _words(MESSAGE)),
    Target("form", form, [b"\0" + FORM, b"\3" + FORM],
           [b"--x-7", b"\r\n", b"filename=", b"filename*=UTF-8''", b"; name="]),
    Target("sealed", sealed, [_SEALED.encode()]),
    Target("filters", filters, [LINE], [b" OR ", b"-", b'"', b"since:", b"until:", b"cost:>",
           b"id:resp_", b"sort:slowest", b"tag:", b"1h", b"2026-11-28T10:00", b"duration:<2s"]),
    Target("arguments", arguments, [b"```json\n{'a': True, b: \"x\"y\", }\n```", b'{"a": [1, 2'],
           [b"```", b"{", b"}", b"'", b'"', b"True", b"None", b"\\\\", b"\\n", b": ", b", "]),
)  # fmt: skip
