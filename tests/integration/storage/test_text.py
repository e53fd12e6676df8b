"""Text survives exactly, on both stores, from the request to every place where it comes back."""

import io
import json
import random
from typing import Any

import pytest

from tests.support.replay import JSON, Answer, ReplayBackend, completion
from tests.support.server import RunningServer

ODD = [
    "\x00",
    "a\x00b\x00",
    "\u2028\u2029\x85\ufeff\ufffe\uffff",
    "\U0001f600\U0010ffff",
    "é e\u0301 \u202e abc",
    "\r\n\t\x1b[31m\x7f",
    "'; DROP TABLE responses; --",
    "\\u0000 \\ud800 %s {} $1 ?1",
]


async def there_and_back(
    server: RunningServer, backend: ReplayBackend, text: str
) -> dict[str, Any]:
    backend.script = lambda request: Answer([completion(request["messages"][-1]["content"])], JSON)
    metadata = {text[:64] or "k": text[:512]}
    body = {
        "model": "m",
        "input": [{"role": "user", "content": text}],
        "metadata": metadata,
        "instructions": text,
    }
    status, created = await server.post(
        "/responses", data=io.BytesIO(json.dumps(body, ensure_ascii=False).encode())
    )
    assert status == 200, created
    _, stored = await server.get(f"/responses/{created['id']}")
    _, items = await server.get(f"/responses/{created['id']}/input_items")
    assert stored["metadata"] == metadata
    assert stored["instructions"] == text
    assert items["data"][0]["content"][0]["text"] == text  # type: ignore[index]
    assert stored == created
    return stored


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_odd_text_comes_back_as_it_went(
    stateful: RunningServer, backend: ReplayBackend, text: str
) -> None:
    stored = await there_and_back(stateful, backend, text)
    assert stored["output_text"] == text
    _, conversation = await stateful.post(
        "/conversations",
        json={"items": [{"role": "user", "content": text}], "metadata": {"a": text[:512]}},
    )
    _, listed = await stateful.get(f"/conversations/{conversation['id']}/items")
    assert listed["data"][0]["content"][0]["text"] == text  # type: ignore[index]
    assert (await stateful.get(f"/conversations/{conversation['id']}"))[1]["metadata"] == {
        "a": text[:512]
    }


@pytest.mark.wide("postgres")
async def test_any_text_comes_back(stateful: RunningServer, backend: ReplayBackend) -> None:
    """Texts of any characters that JSON can say."""
    dice = random.Random(7)
    for _ in range(40):
        codes = (dice.randrange(0x110000) for _ in range(dice.randrange(1, 80)))
        await there_and_back(
            stateful,
            backend,
            "".join(map(chr, (c for c in codes if not 0xD800 <= c < 0xE000))) or "x",
        )


@pytest.mark.wide
async def test_ten_megabytes_come_back(stateful: RunningServer, backend: ReplayBackend) -> None:
    text = "\U0001f600x\x00" * 500_000 + "y" * 7_485_760
    assert len(text.encode()) == 10_485_760
    assert (await there_and_back(stateful, backend, text))["output_text"] == text


@pytest.mark.parametrize(
    "body", [b'{"model":"m","input":"\\ud800"}', b'{"model":"m","input":"\xed\xa0\x80"}']
)
async def test_half_a_surrogate_pair_is_refused_at_the_door(
    server: RunningServer, body: bytes
) -> None:
    assert (await server.post("/responses", data=body))[0] == 400
