"""The framing of streams."""

from dataclasses import replace

from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange, Frame
from antiphon_verify.reading import at, preview
from antiphon_verify.replies.transport import sse as replies
from antiphon_verify.requirement import Stop, may, must, should
from antiphon_verify.samples import TEA
from antiphon_verify.trial import Steps, Trial


def has_data(frame: Frame) -> bool:
    """Whether a frame is an event."""
    return frame.data is not None and frame.data != "[DONE]"


@case(
    must(
        "transport:sse:complete",
        "issue codex#41340",
        "A stream ends without a broken connection.",
        fault=[replace(replies.GOOD, fault="the connection broke")],
    ),
    must(
        "transport:sse:content-type",
        "spec 7",
        "The content type of a Responses stream is `text/event-stream`.",
        fault=[replies.headed(content_type="application/json")],
    ),
    may(
        "transport:sse:charset",
        "spec 7",
        "The content type has `charset=utf-8`.",
        fault=[replies.headed(content_type="text/event-stream")],
    ),
    must(
        "transport:sse:event-line",
        "open-responses 2",
        "Every event has an `event:` line that equals the `type` of its data.",
        fault=[
            replace(replies.GOOD, body=replies.GOOD.body.replace(b"event: response.created\n", b""))
        ],
    ),
    must(
        "transport:sse:one-object",
        "sse",
        "The data of every frame is one JSON object.",
        fault=[replies.reworded(b"data: {", b"data: [{")],
    ),
    must(
        "transport:sse:ended",
        "sse",
        "Every frame ends with an empty line, including the last.",
        fault=[replace(replies.GOOD, body=replies.GOOD.body[:-1])],
    ),
    should(
        "transport:sse:no-ids",
        "open-responses 2",
        "No frame has an `id:` line.",
        fault=[replies.reworded(b"event: ", b"id: 1\nevent: ")],
    ),
    should(
        "transport:sse:known-fields",
        "sse",
        "Frames have no fields except `event`, `data`, `id` and `retry`.",
        fault=[replies.reworded(b"event: ", b"name: x\nevent: ")],
    ),
    may(
        "transport:sse:comments-in-silence",
        "sse",
        "Comments are sent only when a stream is idle, not between consecutive events.",
        fault=[replies.reworded(b"event: ", b": keepalive\n\nevent: ")],
    ),
    must(
        "transport:sse:utf-8",
        "sse",
        "A stream is valid UTF-8, whatever the script of its text.",
        fault=[replies.reworded(b"response.output_text.done", b"response.output_text.d\xffne")],
    ),
    may(
        "transport:sse:no-done",
        "spec 0",
        "A Responses stream ends with its last event, without `[DONE]`, like OpenAI's.",
        fault=[replace(replies.GOOD, body=replies.GOOD.body + b"data: [DONE]\n\n")],
    ),
    should(
        "transport:sse:no-cache",
        "http",
        "A stream has `cache-control: no-cache` or `no-store`.",
        fault=[replies.headed(cache_control="max-age=60")],
    ),
    must(
        "transport:sse:uncompressed",
        "http",
        "A stream is not compressed unless the client requests it.",
        fault=[replies.headed(content_encoding="gzip")],
    ),
    good=[replies.GOOD],
)
def a_stream_is_framed(trial: Trial) -> Steps:
    """Stream a text in several scripts."""
    exchange = yield from trial.respond(f"Repeat these words: {TEA}.", stream=True)
    trial.offered(exchange)
    if not 200 <= exchange.status < 300:
        raise Stop("failed", exchange.came)
    if not exchange.fault and not any(map(has_data, exchange.frames)):
        raise Stop("skipped", f"These are not events: {exchange.came}")
    trial.expect("transport:sse:complete", not exchange.fault, exchange.came)
    judge_headers(trial, exchange)
    judge_frames(trial, exchange)


def judge_headers(trial: Trial, exchange: Exchange) -> None:
    """Judge the headers of a stream."""
    kind = exchange.headers.get("content-type", "").lower()
    trial.expect(
        "transport:sse:content-type",
        kind.startswith("text/event-stream"),
        kind or "no content type",
    )
    trial.expect(
        "transport:sse:charset", "charset=utf-8" in kind.replace(" ", "").replace('"', ""), kind
    )
    cache = exchange.headers.get("cache-control", "").lower()
    trial.expect(
        "transport:sse:no-cache",
        "no-cache" in cache or "no-store" in cache,
        cache or "no cache-control",
    )
    coding = exchange.headers.get("content-encoding", "identity")
    trial.expect("transport:sse:uncompressed", coding == "identity", coding)


def judge_frames(trial: Trial, exchange: Exchange) -> None:
    """Judge the frames of a stream."""
    frames = exchange.frames
    events = [frame for frame in frames if has_data(frame)]
    if not events:
        raise Stop("failed", f"These are not events: {exchange.came}")
    values = exchange.events
    trial.expect(
        "transport:sse:one-object", all(isinstance(one, dict) for one in values), exchange.came
    )
    named = [(frame.event, at(value, "type")) for frame, value in zip(events, values, strict=True)]
    wrong = [pair for pair in named if pair[0] is None or pair[0] != pair[1]]
    trial.expect("transport:sse:event-line", not wrong, preview(wrong))
    trial.expect(
        "transport:sse:ended",
        all(frame.is_ended for frame in frames),
        "The last frame does not end with an empty line.",
    )
    trial.expect(
        "transport:sse:no-ids", all(frame.id is None for frame in frames), "Frames have ids."
    )
    others = sorted({name for frame in frames for name in frame.others})
    trial.expect("transport:sse:known-fields", not others, others)
    comments = sum(bool(frame.comments) for frame in frames)
    trial.expect(
        "transport:sse:comments-in-silence",
        comments <= 1 + len(events) // 4,
        f"{comments} comments",
    )
    trial.expect(
        "transport:sse:utf-8",
        is_utf_8(exchange.body),
        "The stream contains bytes that are not UTF-8.",
    )
    done = [frame for frame in frames if frame.data == "[DONE]"]
    trial.expect("transport:sse:no-done", not done, "The stream contains [DONE].")


def is_utf_8(body: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
