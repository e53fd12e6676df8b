"""What goes out to a client tells it nothing but its answer (cases/threats.md 26 to 28, 30, 31 and
40).
"""

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from antiphon.errors import StoreError
from antiphon.upstream.http import HttpBackend
from tests.support.chance import examples
from tests.support.changed_stores import ChangedStore
from tests.support.replay import Answer, ReplayBackend, delta, sse, text
from tests.support.server import RunningServer, serve

JSON = "application/json"
KEY = "sk-secret-backend-key"
INSIDES = re.compile(
    r"0x[0-9a-f]{6,}|Traceback|\.py\b|site-packages|/home/|/tmp/|sqlite|asyncpg", re.IGNORECASE
)
TEMPLATES = [
    "{{7*7}}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
    "{0.__class__}",
    "{self}",
    "%(levelname)s %s %n",
    "{% if 1 %}",
]

breaks = st.text(st.sampled_from('a\r\n\u2028\u2029\x85\x00 :{}"\\')) | st.text()


@pytest.mark.parametrize("template", TEMPLATES)
async def test_a_template_is_text_like_any_other(
    backend: ReplayBackend, server: RunningServer, template: str
) -> None:
    status, response = await server.post(
        "/responses",
        json={
            "model": "m",
            "input": template,
            "instructions": template,
            "metadata": {"a": template},
            "user": template,
        },
    )
    assert status == 200
    assert [message["content"] for message in backend.requests[-1]["messages"]] == [
        template,
        template,
    ]
    assert response["output_text"] == f"You said: {template}"
    assert (response["instructions"], response["metadata"], response["user"]) == (
        template,
        {"a": template},
        template,
    )


def events_in(body: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream, read as the standard says: lines end with CR, LF or both, and only
    there.
    """
    found = []
    kind = ""
    data = []
    for line in re.split(r"\r\n|\r|\n", body.decode()):
        name, _, value = line.partition(":")
        if not line and data:
            found.append((kind, json.loads("\n".join(data))))
            kind = ""
            data = []
        elif name == "event":
            kind = value.removeprefix(" ")
        elif name == "data":
            data.append(value.removeprefix(" "))
    return found


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    stated=st.lists(breaks, min_size=1, max_size=4), name=breaks, call_id=breaks, arguments=breaks
)
async def test_no_output_of_a_model_becomes_an_event(
    backend: ReplayBackend,
    server: RunningServer,
    stated: list[str],
    name: str,
    call_id: str,
    arguments: str,
) -> None:
    call = {
        "index": 0,
        "id": call_id,
        "type": "function",
        "function": {"name": name or "f", "arguments": arguments},
    }
    chunks = [
        *(delta(content=each) for each in stated),
        delta(tool_calls=[call]),
        delta("tool_calls"),
    ]
    backend.script = lambda _: Answer([sse(*chunks)])
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "input": "Hi", "stream": True}
    ) as response:
        events = events_in(await response.read())

    assert [kind for kind, _ in events] == [event["type"] for _, event in events]
    assert [event["sequence_number"] for _, event in events] == list(range(len(events)))
    deltas = [event["delta"] for kind, event in events if kind == "response.output_text.delta"]
    assert "".join(deltas) in ("".join(stated), "")
    assert events[-1][0] in {"response.completed", "response.failed"}


@pytest.mark.parametrize(
    "field", ["model", "user", "metadata", "prompt_cache_key", "safety_identifier", "input"]
)
async def test_no_field_becomes_a_header(server: RunningServer, field: str) -> None:
    value: Any = "x\r\nset-cookie: a=b\r\n\r\nHTTP/1.1 200 OK"
    body = {"model": "m", "input": "Hi", field: {"a": value} if field == "metadata" else value}
    async with server.http.post(f"{server.url}/responses", json=body) as response:
        await response.read()
        assert "set-cookie" not in {name.lower() for name in response.headers}
        assert "\n" not in "".join(response.headers.values())


async def test_a_backend_that_repeats_what_it_was_sent_gives_no_key_away(
    backend: ReplayBackend, server: RunningServer
) -> None:
    for status in (200, 400, 401, 404, 429, 500):
        backend.script = lambda request, status=status: Answer(
            [
                json.dumps(
                    {
                        "error": {
                            "message": backend.heads[-1].decode(),
                            "code": backend.heads[-1].decode(),
                        }
                    }
                ).encode()
            ],
            JSON,
            status,
            headers={"retry-after": "sk-secret-backend-key", "x-echo": "sk-secret-backend-key"},
        )
        for path, requested in (
            ("responses", {"input": "Hi"}),
            ("chat/completions", {"messages": [{"role": "user"}]}),
        ):
            for stream in (True, False):
                body = {"model": "m", "stream": stream, **requested}
                async with server.http.post(f"{server.url}/{path}", json=body) as response:
                    reported = (await response.text()) + str(response.headers)
                assert KEY not in reported
    assert KEY in backend.heads[0].decode()


class Broken(ChangedStore):
    """A store that fails in ways that it never should."""

    async def save(self, *args: Any, **how: Any) -> bool:
        raise ValueError(f"{self!r} at /home/somebody/antiphon.db")

    async def load(self, *args: Any, **how: Any) -> Any:
        raise StoreError("The store operation failed.") from ValueError(f"{object()!r} in sqlite")


async def test_a_fault_of_the_server_shows_none_of_its_insides(backend: ReplayBackend) -> None:
    async with serve(HttpBackend("replay", backend.url), store=Broken.open("sqlite://")) as server:
        created, first = await server.post("/responses", json={"model": "m", "input": "Hi"})
        retrieved, second = await server.get(f"/responses/resp_{'0' * 48}")

    assert (created, retrieved) == (500, 503)
    for body in (first, second):
        assert INSIDES.search(json.dumps(body)) is None


@pytest.mark.parametrize(
    "broken",
    [
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        b'{"model": "m", "input": 1e999}',
        b'{"model": "m", "input": "\\ud800"}',
    ],
)
async def test_an_invalid_body_is_rejected_without_parser_details(
    server: RunningServer, broken: bytes
) -> None:
    async with server.http.post(
        f"{server.url}/responses", data=broken, headers={"content-type": JSON}
    ) as response:
        assert response.status < 500
        assert INSIDES.search(await response.text()) is None


@pytest.mark.parametrize(
    "words",
    [
        [f"{'x' * size}" for size in range(1, 17)],
        ["a", "\n", '"', "\\", "\t\n", "ü", "語", "🌊", "\u2028", "\x01", "a\n\n"],
    ],
    ids=["lengths", "letters"],
)
async def test_the_size_of_a_delta_does_not_reveal_its_text(
    backend: ReplayBackend, server: RunningServer, words: list[str]
) -> None:
    backend.script = lambda _: Answer([text(*words)])
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "input": "Hi", "stream": True}
    ) as response:
        lines = [
            line
            for line in (await response.read()).split(b"\n")
            if b'output_text.delta"' in line[:50]
        ]
    sizes = [
        len(re.sub(rb'"sequence_number":\d+', b"", line))
        for line in lines
        if line.startswith(b"data")
    ]

    assert len(sizes) == len(words)
    assert len({size % 16 for size in sizes}) == 1
    assert max(sizes) - min(sizes) <= 16


async def test_a_client_may_do_without_the_padding(
    backend: ReplayBackend, server: RunningServer
) -> None:
    backend.script = lambda _: Answer([text("a", "bcd")])
    body = {
        "model": "m",
        "input": "Hi",
        "stream": True,
        "stream_options": {"include_obfuscation": False},
    }
    async with server.http.post(f"{server.url}/responses", json=body) as response:
        assert b"obfuscation" not in await response.read()
