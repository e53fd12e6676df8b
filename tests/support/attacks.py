"""Requests that are as large as a server accepts, each in a way that makes another part of it
work.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MEGABYTE = 1024 * 1024
LARGEST = 32 * MEGABYTE - 64 * 1024
IMAGE_SIZE = LARGEST - 1024
STORED_SIZE = 12 * MEGABYTE
"""The driver of PostgreSQL copies all of a row in one step, on the loop: see
docs/why/event-loop.md.
"""

ITEMS = 10_000

TINY = b'{"role":"user","content":"a"}'
CALL = b'{"type":"function_call","call_id":"c%d","name":"f","arguments":"{}"}'
OUTPUT = b'{"type":"function_call_output","call_id":"c%d","output":"done"}'
PART = b'{"type":"input_text","text":"a"}'
IMAGE = b'{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,%b"}]}'
FILE = (
    b'{"role":"user","content":[{"type":"input_file","filename":"a.pdf",'
    b'"file_data":"data:application/pdf;base64,%b"}]}'
)


@dataclass(frozen=True)
class Attack:
    """One request; `/v1` goes before its path."""

    name: str
    path: str
    body: bytes
    headers: Mapping[str, str] | None = None


def repeated(member: bytes, size: int) -> bytes:
    """Return a JSON array of so many bytes at most."""
    return b"[" + b",".join([member] * ((size - 1) // (len(member) + 1))) + b"]"


EDGE = b"1.7976931348623157e308"
"""The largest double: msgspec takes 20 µs to read it."""

ARGUED = b'{"type":"function_call","call_id":"call_1","name":"f","arguments":"%b"}'


def create(value: bytes, **more: Any) -> bytes:
    """Return the body of a response with this JSON as its input."""
    return b'{"model":"m",%b"input":%b}' % (
        (json.dumps(more)[1:-1] + ",").encode() if more else b"",
        value,
    )


def tool(number: int) -> dict[str, Any]:
    """Return a function of twenty parameters."""
    properties = {f"p{i}": {"type": "string", "description": "What it is for."} for i in range(20)}
    return {
        "type": "function",
        "name": f"f{number}",
        "parameters": {"type": "object", "properties": properties},
    }


def inputs() -> Mapping[str, bytes]:
    """Return values of `input`, by what is large in them."""
    calls = b",".join(CALL % i + b"," + OUTPUT % i for i in range(ITEMS // 2))
    return {
        "many items": b"[" + b",".join([TINY] * ITEMS) + b"]",
        "many calls": b"[" + calls + b"]",
        "too many items": repeated(TINY, 2 * MEGABYTE),
        "far too many items": repeated(TINY, LARGEST),
        "many parts": b'[{"role":"user","content":%b}]' % repeated(PART, 9_000 * len(PART)),
        "too many parts": b'[{"role":"user","content":%b}]' % repeated(PART, 2 * MEGABYTE),
        "a large text": json.dumps("words " * (10 * MEGABYTE // 6 - 10)).encode(),
        "large texts": repeated(b'{"role":"user","content":"%b"}' % (b"a" * MEGABYTE), LARGEST),
        "an image": b"[" + IMAGE % (b"A" * STORED_SIZE) + b"]",
        "a large image": b"[" + IMAGE % (b"A" * (IMAGE_SIZE & ~3)) + b"]",
        "many images": repeated(IMAGE % (b"A" * 40_000), LARGEST),
        "a large file": b"[" + FILE % (b"A" * (IMAGE_SIZE & ~3)) + b"]",
        "a text with an emoji": json.dumps(
            "words\n" * 650_000 + "\U0001f600", ensure_ascii=False
        ).encode(),
        "a text that is too wide": json.dumps(
            "words\n" * 1_600_000 + "\U0001f600", ensure_ascii=False
        ).encode(),
        "a long name": b'[{"%b":1}]' % (b"a" * IMAGE_SIZE),
        "escapes": b'"%b"' % (b"\\u00e9" * (10 * MEGABYTE // 6)),
        "long decimals": repeated(b"1.2345678901234567890123e-300", 2 * MEGABYTE),
        "numbers at the edge": repeated(EDGE, 60_000),
        "many numbers at the edge": repeated(EDGE, 2 * MEGABYTE),
        "a call with numbers at the edge": b"[%b,%b]"
        % (ARGUED % repeated(EDGE, 60_000), OUTPUT % 1),
        "long integers": repeated(b"9" * 4000, 2 * MEGABYTE),
        "empty objects": repeated(b"{}", LARGEST),
        "a deep array": b"[" * 400_000 + b"]" * 400_000,
        "deep arrays": repeated(b"[" * 250 + b"]" * 250, 500_000),
        "many names": b"{" + b",".join(b'"k%d":0' % i for i in range(500_000)) + b"}",
    }


def attacks() -> Iterator[Attack]:
    """Return the attacks: each kind of data on one endpoint, some of them on every endpoint."""
    provided = inputs()
    for name, value in provided.items():
        yield Attack(f"a response to {name}", "/responses", create(value))
    for name in ("many calls", "a large image"):
        value = provided[name]
        yield Attack(f"a stream for {name}", "/responses", create(value, stream=True, store=False))
        yield Attack(f"the tokens of {name}", "/responses/input_tokens", create(value))
        yield Attack(f"a compaction of {name}", "/responses/compact", create(value))
        yield Attack(
            f"a background response to {name}", "/responses", create(value, background=True)
        )
        yield Attack(
            f"a repeated response to {name}", "/responses", create(value), {"idempotency-key": name}
        )
    messages = b"[" + b",".join([TINY] * ITEMS) + b"]"
    for name, value in {"many": messages, "large": provided["large texts"]}.items():
        yield Attack(
            f"a completion of {name} messages",
            "/chat/completions",
            b'{"model":"m","messages":%b}' % value,
        )
    for name in ("long decimals", "deep arrays", "large texts"):
        yield Attack(
            f"embeddings of {name}", "/embeddings", b'{"model":"m","input":%b}' % provided[name]
        )
    image = b'{"model":"m","prompt":"a","images":[{"image_url":"data:image/png;base64,%b"}]}'
    yield Attack("an edit of a large image", "/images/edits", image % (b"A" * (IMAGE_SIZE & ~3)))
    numbers = b'{"type":"function","name":"f","parameters":{"enum":%b}}' % repeated(EDGE, 60_000)
    yield Attack(
        "a repeated response with numbers at the edge",
        "/responses",
        b'{"model":"m","tools":[%b],"input":"a"}' % numbers,
        {"idempotency-key": "numbers"},
    )
    items = b"[" + b",".join([TINY] * 20) + b"]"
    yield Attack("a conversation of items", "/conversations", b'{"items":%b}' % items)
    yield Attack(
        "a conversation of an image", "/conversations", b'{"items":%b}' % provided["a large image"]
    )
    for count in (128, 1_000):
        tools = [tool(i) for i in range(count)]
        yield Attack(f"a response with {count} tools", "/responses", create(b'"a"', tools=tools))
        yield Attack(
            f"a stream with {count} tools", "/responses", create(b'"a"', tools=tools, stream=True)
        )
        yield Attack(
            f"the tokens of {count} tools", "/responses/input_tokens", create(b'"a"', tools=tools)
        )
