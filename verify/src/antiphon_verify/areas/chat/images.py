"""Images in the messages of Chat Completions."""

from typing import Any

from antiphon_verify.areas.chat.answer import text_of
from antiphon_verify.case import case
from antiphon_verify.reading import at
from antiphon_verify.replies import chunks
from antiphon_verify.replies.chat import images as replies
from antiphon_verify.replies.completions import CHUNKS
from antiphon_verify.requirement import capability, must, should
from antiphon_verify.samples import accepted, is_accepted, png
from antiphon_verify.trial import Steps, Trial

API = "chat-api images"


def text(words: str) -> dict[str, Any]:
    """Return a part of text."""
    return {"type": "text", "text": words}


def image(url: str, **fields: Any) -> dict[str, Any]:
    """Return a part that is an image."""
    return {"type": "image_url", "image_url": {"url": url, **fields}}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return a user message."""
    return {"role": "user", "content": list(parts)}


RED = png("red")
BLUE = png("blue")

WHICH = "Which colour is this picture? Answer in one word."


ACCEPTED = (
    accepted(
        must("chat:images:several", API, "Several images in one message are accepted."),
        messages=[user(text("Look at these."), image(RED), image(BLUE))],
    ),
    accepted(
        must("chat:images:over-turns", API, "Images in several turns are accepted."),
        messages=[
            user(text("Look."), image(RED)),
            {"role": "assistant", "content": "Red."},
            user(image(BLUE)),
        ],
    ),
    accepted(
        should("chat:images:detail", API, "An image can have a `detail`."),
        messages=[user(text("Look."), image(RED, detail="low"))],
    ),
    accepted(
        must("chat:images:any-order", API, "Images and texts are accepted in any order."),
        messages=[
            user(image(RED), text("Look at the first,"), image(BLUE), text("then at the second."))
        ],
    ),
)


@case(
    must(
        "chat:images:data-url", API, "An image as a data URL is accepted.", fault=[replies.REJECTED]
    ),
    capability(
        should(
            "chat:images:colour",
            API,
            "The model names the colour of a picture.",
            fault=[replies.with_text("Green.")],
        )
    ),
    good=[replies.with_text("Red.")],
)
def a_picture_is_inspected(trial: Trial) -> Steps:
    """Send a red picture."""
    completion = trial.completion((yield from trial.chat([user(text(WHICH), image(RED))])))
    trial.expect("chat:images:data-url", True)
    trial.expect(
        "chat:images:colour", "red" in text_of(completion).lower(), text_of(completion) or "no text"
    )


@case(
    capability(
        should(
            "chat:images:told-apart",
            API,
            "The model distinguishes two pictures.",
            fault=[replies.with_text("Red.")],
        )
    ),
    good=[replies.with_text("Blue.")],
)
def two_pictures_are_distinguished(trial: Trial) -> Steps:
    """Send a red picture and a blue one."""
    question = text("Which colour is the second picture? Answer in one word.")
    completion = trial.completion(
        (yield from trial.chat([user(image(RED), image(BLUE), question)]))
    )
    answer = text_of(completion).lower()
    trial.expect(
        "chat:images:told-apart", "blue" in answer and "red" not in answer, answer or "no text"
    )


@case(
    must(
        "chat:images:streamed",
        API,
        "A response about an image can be streamed.",
        fault=[replies.BROKEN],
    ),
    good=[chunks(*CHUNKS)],
)
def a_picture_is_streamed_about(trial: Trial) -> Steps:
    """Send a picture, and stream the response."""
    exchange = yield from trial.chat([user(text(WHICH), image(RED))], stream=True)
    trial.offered(exchange)
    is_stream = exchange.is_ok and at(exchange.events, 0, "object") == "chat.completion.chunk"
    trial.expect("chat:images:streamed", is_stream, exchange.came)


@case(
    must(
        "chat:images:bad-data",
        API,
        "Invalid image data is accepted or rejected with a 4xx, never a 5xx.",
        fault=[replies.BROKEN],
    ),
    good=[replies.REJECTED],
)
def a_broken_picture_is_no_fault_of_the_server(trial: Trial) -> Steps:
    """Send invalid image data."""
    exchange = yield from trial.chat([user(text("Look."), image("data:image/png;base64,!!!"))])
    trial.supported(exchange)
    is_right = is_accepted(exchange) or 400 <= exchange.status < 500
    trial.expect("chat:images:bad-data", is_right, exchange.came)


@case(
    should(
        "chat:images:file-url", API, "An image at a `file:` URL is rejected.", fault=[replies.GOOD]
    ),
    good=[replies.REJECTED],
)
def a_file_of_the_server_is_not_read(trial: Trial) -> Steps:
    """Send the URL of a file on the server."""
    exchange = yield from trial.chat([user(text("Look."), image("file:///etc/hostname"))])
    trial.supported(exchange)
    trial.expect("chat:images:file-url", exchange.status >= 400, exchange.came)
