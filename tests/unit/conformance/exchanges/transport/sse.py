"""Frames of a stream."""

from dataclasses import replace

from antiphon_verify.areas.transport.sse import a_stream_is_framed
from tests.unit.conformance.exchanges import Answer, Shown, shown, streams
from tests.unit.testing.events.streams import STREAMS

GOOD = streams(STREAMS["answer"], cache_control="no-cache")


def headed(**headers: str) -> Answer:
    return replace(GOOD, headers={**GOOD.headers, **{name.replace("_", "-"): value for name, value in headers.items()}})


def reworded(old: bytes, new: bytes) -> Answer:
    return replace(GOOD, body=GOOD.body.replace(old, new))


EXCHANGES: dict[str, Shown] = shown(
    a_stream_is_framed,
    [GOOD],
    {
        "transport:sse:complete": [replace(GOOD, fault="the connection broke")],
        "transport:sse:content-type": [headed(content_type="application/json")],
        "transport:sse:charset": [headed(content_type="text/event-stream")],
        "transport:sse:event-line": [replace(GOOD, body=GOOD.body.replace(b"event: response.created\n", b""))],
        "transport:sse:one-object": [reworded(b"data: {", b"data: [{")],
        "transport:sse:ended": [replace(GOOD, body=GOOD.body[:-1])],
        "transport:sse:no-ids": [reworded(b"event: ", b"id: 1\nevent: ")],
        "transport:sse:known-fields": [reworded(b"event: ", b"name: x\nevent: ")],
        "transport:sse:comments-in-silence": [reworded(b"event: ", b": keepalive\n\nevent: ")],
        "transport:sse:utf-8": [reworded(b"response.output_text.done", b"response.output_text.d\xffne")],
        "transport:sse:no-done": [replace(GOOD, body=GOOD.body + b"data: [DONE]\n\n")],
        "transport:sse:no-cache": [headed(cache_control="max-age=60")],
        "transport:sse:uncompressed": [headed(content_encoding="gzip")],
    },
)
