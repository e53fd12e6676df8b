"""A non-streamed text response."""

from typing import Any

from antiphon_verify.case import case
from antiphon_verify.reading import at, is_text, listed, preview
from antiphon_verify.replies.bodies import MESSAGE
from antiphon_verify.replies.responses import text as replies
from antiphon_verify.requirement import Stop, capability, must, should
from antiphon_verify.trial import Steps, Trial


def output_of(response: Any) -> list[dict[str, Any]]:
    """Return the output items that are objects."""
    return [item for item in listed(response, "output") if isinstance(item, dict)]


def messages_of(response: Any) -> list[dict[str, Any]]:
    """Return the messages."""
    return [item for item in output_of(response) if item.get("type") == "message"]


def parts_of(response: Any) -> list[Any]:
    """Return the content parts of all messages."""
    return [part for message in messages_of(response) for part in listed(message, "content")]


def text_of(response: Any) -> str:
    """Return the text of all messages."""
    return "".join(text for part in parts_of(response) if isinstance(text := at(part, "text"), str))


@case(
    must(
        "responses:text:message",
        "spec 5",
        "A text response is a message with the role `assistant`.",
        fault=[replies.GOOD.patched("output", 0, "role", to="model")],
    ),
    must(
        "responses:text:content",
        "spec 5",
        "The content of a message is a list of parts, each with a type.",
        fault=[replies.GOOD.patched("output", 0, "content", to="Paris.")],
    ),
    must(
        "responses:text:part",
        "spec 5",
        "A text part is `output_text` with a string `text`.",
        fault=[replies.GOOD.patched("output", 0, "content", 0, "type", to="text")],
    ),
    must(
        "responses:text:annotations",
        "client ai-sdk",
        "A text part has a list of `annotations`.",
        fault=[replies.GOOD.without("output", 0, "content", 0, "annotations")],
    ),
    should(
        "responses:text:logprobs",
        "open-responses",
        "A text part has a list of `logprobs`, possibly empty.",
        fault=[replies.GOOD.without("output", 0, "content", 0, "logprobs")],
    ),
    must(
        "responses:text:status",
        "spec 5",
        "The status of a complete message is `completed`.",
        fault=[replies.GOOD.patched("output", 0, "status", to="in_progress")],
    ),
    should(
        "responses:text:last",
        "spec 16",
        "The message comes after the reasoning.",
        fault=[replies.GOOD.patched("output", to=[MESSAGE, replies.REASONING])],
    ),
    must(
        "responses:text:one-message",
        "issue agents#4275",
        "One answer is one message, not the same message twice.",
        fault=[replies.GOOD.patched("output", to=[MESSAGE, MESSAGE | {"id": "msg_2"}])],
    ),
    capability(
        should(
            "responses:text:answers",
            "spec 2",
            "The model answers a simple question.",
            fault=[replies.GOOD.patched("output", 0, "content", 0, "text", to="Rome.")],
        )
    ),
    good=[replies.GOOD],
)
def an_answer_is_a_message(trial: Trial) -> Steps:
    """Send a simple question."""
    response = trial.response(
        (yield from trial.respond("What is the capital of France? Answer in one word."))
    )
    if response.get("status") not in ("completed", "incomplete"):
        raise Stop("failed", f"The response is {preview(response.get('status'))}.")
    messages = messages_of(response)
    if not messages:
        raise Stop("skipped", "The model said nothing.")
    items = [item.get("type") for item in output_of(response)]
    trial.expect(
        "responses:text:message", all(one.get("role") == "assistant" for one in messages), messages
    )
    trial.expect(
        "responses:text:one-message",
        len({text_of({"output": [one]}) for one in messages}) == len(messages),
        messages,
    )
    trial.expect("responses:text:last", items[-1] != "reasoning", items)
    if response.get("status") == "completed":
        trial.expect(
            "responses:text:status",
            all(one.get("status") == "completed" for one in messages),
            messages,
        )
    judge_parts(trial, messages)
    trial.expect("responses:text:answers", "paris" in text_of(response).lower(), text_of(response))


def judge_parts(trial: Trial, messages: list[dict[str, Any]]) -> None:
    """Judge the parts of messages."""
    contents = [message.get("content") for message in messages]
    are_lists = all(
        isinstance(one, list) and all(is_text(at(part, "type")) for part in one) for one in contents
    )
    if trial.expect("responses:text:content", are_lists, contents):
        texts = [part for part in parts_of({"output": messages}) if at(part, "type") != "refusal"]
        are_texts = all(
            at(part, "type") == "output_text" and isinstance(at(part, "text"), str)
            for part in texts
        )
        trial.expect("responses:text:part", are_texts, texts)
        for key in ("annotations", "logprobs"):
            trial.expect(
                f"responses:text:{key}",
                all(isinstance(at(part, key), list) for part in texts),
                texts,
            )


@case(
    capability(
        should(
            "responses:text:follows-instructions",
            "spec 2",
            "The model follows `instructions`.",
            fault=[replies.GOOD],
        )
    ),
    good=[replies.GOOD.patched("output", 0, "content", 0, "text", to="Paris, banana.")],
)
def instructions_are_followed(trial: Trial) -> Steps:
    """Request a word by instructions."""
    options = {"instructions": "Always include the word BANANA in your answer."}
    response = trial.response(
        (yield from trial.respond("What is the capital of France?", **options))
    )
    text = text_of(response)
    trial.expect("responses:text:follows-instructions", "banana" in text.lower(), text or "no text")
