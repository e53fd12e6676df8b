"""Non-streamed responses of Chat Completions."""

from typing import Any

from antiphon_verify.case import case
from antiphon_verify.reading import MISSING, at, is_integer, is_text, listed, preview
from antiphon_verify.replies import states
from antiphon_verify.replies.chat import answer as replies
from antiphon_verify.requirement import capability, may, must, should
from antiphon_verify.samples import TEA, accepted
from antiphon_verify.trial import Steps, Trial, is_completion

REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")

THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Keys in which servers return reasoning, which can use up the whole token limit."""


def text_of(completion: Any) -> str:
    """Return the text of the first choice, empty without one."""
    content = at(completion, "choices", 0, "message", "content")
    return content if isinstance(content, str) else ""


def is_thinking(message: Any) -> bool:
    """Whether a message, or a delta, contains reasoning."""
    return any(at(message, key) for key in THOUGHTS)


def is_usage(usage: Any) -> bool:
    """Whether the three token counts are present."""
    return all(is_integer(at(usage, key)) for key in COUNTS)


@case(
    must(
        "chat:answer:object",
        "chat-api object",
        "A non-streamed response is a `chat.completion` object.",
        fault=[replies.PARIS.patched("object", to="text_completion")],
    ),
    asides=(  # they can be judged only if the server answered
        must(
            "chat:answer:id",
            "chat-api object",
            "`id` is a non-empty string.",
            fault=[replies.PARIS.without("id")],
        ),
        must(
            "chat:answer:created",
            "chat-api object",
            "`created` is an integer, a time in seconds since 1970.",
            fault=[replies.PARIS.patched("created", to="today")],
        ),
        must(
            "chat:answer:model",
            "chat-api object",
            "`model` is the name of a model.",
            fault=[replies.PARIS.without("model")],
        ),
        must(
            "chat:answer:choices",
            "chat-api object",
            "`choices` is a list with one choice, of index 0.",
            fault=[replies.PARIS.without(*replies.CHOICE, "index")],
        ),
        must(
            "chat:answer:message",
            "chat-api object",
            "The `message` of a choice has the role `assistant`.",
            fault=[replies.PARIS.without(*replies.CHOICE, "message", "role")],
        ),
        must(
            "chat:answer:content",
            "chat-api object",
            "The `content` of a message is a string, or null with tool calls, "
            "a refusal or reasoning.",
            fault=[replies.PARIS.patched(*replies.CHOICE, "message", "content", to=None)],
        ),
        must(
            "chat:answer:finish-reason",
            "chat-api object",
            "`finish_reason` is one of the values that the API defines.",
            fault=[replies.PARIS.patched(*replies.CHOICE, "finish_reason", to="eos")],
        ),
        may(
            "chat:answer:refusal",
            "chat-api object",
            "A message has the key `refusal`, null if the model did not refuse.",
            fault=[replies.PARIS.without(*replies.CHOICE, "message", "refusal")],
        ),
        may(
            "chat:answer:logprobs",
            "chat-api object",
            "A choice has the key `logprobs`, null unless requested.",
            fault=[replies.PARIS.without(*replies.CHOICE, "logprobs")],
        ),
        must(
            "chat:answer:usage",
            "chat-api object",
            "`usage` counts prompt, completion and total tokens as integers.",
            fault=[replies.PARIS.without("usage")],
        ),
        must(
            "chat:answer:usage-total",
            "chat-api object",
            "Total tokens are the sum of prompt and completion tokens.",
            fault=[replies.PARIS.patched("usage", "total_tokens", to=99)],
        ),
        should(
            "chat:answer:usage-counted",
            "chat-api object",
            "The counts of prompt and completion tokens are above 0.",
            fault=[replies.PARIS.patched("usage", to=dict.fromkeys(COUNTS, 0))],
        ),
        capability(
            should(
                "chat:answer:answers",
                "chat-api object",
                "The model answers a simple question.",
                fault=[replies.with_text("Rome.")],
            )
        ),
    ),
    good=[replies.PARIS],
)
def a_question_is_answered(trial: Trial) -> Steps:
    """Send a simple question."""
    completion = trial.whole(
        (yield from trial.chat("What is the capital of France? Answer in one word."))
    )
    judge_completion(trial, completion)
    usage = at(completion, "usage")
    if trial.expect("chat:answer:usage", is_usage(usage), preview(usage)):
        read, written, total = (usage[key] for key in COUNTS)
        trial.expect("chat:answer:usage-total", read + written == total, preview(usage))
        trial.expect("chat:answer:usage-counted", read > 0 and written > 0, preview(usage))
    trial.expect(
        "chat:answer:answers",
        "paris" in text_of(completion).lower(),
        text_of(completion) or "no text",
    )


def judge_completion(trial: Trial, completion: dict[str, Any]) -> None:
    """Judge the object, its one choice and the choice's message."""
    trial.expect(
        "chat:answer:object",
        at(completion, "object") == "chat.completion",
        preview(at(completion, "object")),
    )
    trial.expect("chat:answer:id", is_text(at(completion, "id")), preview(at(completion, "id")))
    created = at(completion, "created")
    trial.expect(
        "chat:answer:created", is_integer(created) and created > 1_000_000_000, preview(created)
    )
    trial.expect(
        "chat:answer:model", is_text(at(completion, "model")), preview(at(completion, "model"))
    )
    choices = listed(completion, "choices")
    choice = at(choices, 0)
    message = at(choices, 0, "message")
    is_one = len(choices) == 1 and at(choice, "index") == 0 and is_integer(at(choice, "index"))
    trial.expect("chat:answer:choices", is_one, preview(at(completion, "choices")))
    trial.expect("chat:answer:message", at(message, "role") == "assistant", preview(message))
    content = at(message, "content")
    is_empty = content is None and (
        bool(at(message, "tool_calls") or at(message, "refusal")) or is_thinking(message)
    )
    trial.expect("chat:answer:content", isinstance(content, str) or is_empty, preview(message))
    reason = at(choice, "finish_reason")
    trial.expect(
        "chat:answer:finish-reason", isinstance(reason, str) and reason in REASONS, preview(reason)
    )
    refusal = at(message, "refusal")
    logprobs = at(choice, "logprobs")
    trial.expect(
        "chat:answer:refusal",
        refusal is None or isinstance(refusal, str),
        f"`refusal` is {preview(refusal)}.",
    )
    trial.expect("chat:answer:logprobs", logprobs is None, f"`logprobs` is {preview(logprobs)}.")


@case(
    must(
        "chat:answer:made",
        "chat-api object",
        "A request with only a model and a message returns a chat completion.",
        fault=[states({})],
    ),
    good=[replies.GOOD],
)
def a_completion_is_created(trial: Trial) -> Steps:
    """Send a model and a message, and only the required parameters."""
    exchange = yield from trial.chat(
        "Say hello.", max_tokens=MISSING, max_completion_tokens=MISSING
    )
    trial.supported(exchange)
    trial.expect("chat:answer:made", exchange.is_ok and is_completion(exchange.json), exchange.came)


@case(
    must(
        "chat:answer:plain-by-default",
        "chat-api",
        "Without `stream`, the response is one JSON object, not a stream.",
        fault=[replies.STREAM],
    ),
    good=[replies.GOOD],
)
def a_completion_is_no_stream_by_default(trial: Trial) -> Steps:
    """Send a request without `stream`."""
    exchange = yield from trial.chat("Say hello.", stream=MISSING)
    trial.supported(exchange)
    trial.expect("chat:answer:plain-by-default", is_completion(exchange.json), exchange.came)


@case(
    must(
        "chat:answer:ids-differ",
        "chat-api object",
        "Different requests return completions with different ids.",
        fault=[replies.GOOD, replies.GOOD],
    ),
    good=[replies.GOOD, replies.GOOD.patched("id", to="chatcmpl-2")],
)
def two_questions_have_two_ids(trial: Trial) -> Steps:
    """Send two requests."""
    first = trial.completion((yield from trial.chat("Say hello.")))
    second = trial.completion((yield from trial.chat("Say goodbye.")))
    ids = [at(one, "id") for one in (first, second)]
    trial.expect("chat:answer:ids-differ", ids[0] != ids[1], ids)


HELLO = {"role": "user", "content": "Say hello."}


ACCEPTED = (
    accepted(
        should(
            "chat:answer:developer",
            "chat-api messages",
            "A message with the role `developer` is accepted.",
        ),
        messages=[{"role": "developer", "content": "Answer in one word."}, HELLO],
    ),
    accepted(
        must(
            "chat:answer:parts",
            "chat-api messages",
            "A message's content can be a list of text parts.",
        ),
        messages=[
            {
                "role": "user",
                "content": [{"type": "text", "text": "Say "}, {"type": "text", "text": "hello."}],
            }
        ],
    ),
    accepted(
        should(
            "chat:answer:system-parts",
            "chat-api messages",
            "The content of a system message can be a list of text parts.",
        ),
        messages=[
            {"role": "system", "content": [{"type": "text", "text": "Answer in one word."}]},
            HELLO,
        ],
    ),
    accepted(
        should(
            "chat:answer:assistant-parts",
            "chat-api messages",
            "The content of an assistant message can be a list of text parts.",
        ),
        messages=[
            HELLO,
            {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
            {"role": "user", "content": "Say goodbye."},
        ],
    ),
    accepted(
        should("chat:answer:named-user", "chat-api messages", "A message can have a `name`."),
        messages=[HELLO | {"name": "ada"}],
    ),
    accepted(
        must(
            "chat:answer:any-script",
            "chat-api messages",
            "Text in any script is accepted, including emoji and bidirectional control characters.",
        ),
        messages=[{"role": "user", "content": f"Say hello to {TEA}."}],
    ),
)


@case(
    must(
        "chat:answer:several-turns",
        "chat-api messages",
        "A history of several turns is accepted.",
        fault=[replies.REJECTED],
    ),
    capability(
        should(
            "chat:answer:recalls",
            "chat-api messages",
            "The model recalls a word from an earlier turn.",
            fault=[replies.GOOD],
        )
    ),
    good=[replies.with_text("Zanzibar.")],
)
def turns_are_remembered(trial: Trial) -> Steps:
    """State a word, and request it in the next turn."""
    turns = ("Remember this word: zanzibar.", "I will.", "Which word did I ask you to remember?")
    roles = ("user", "assistant", "user")
    messages = [{"role": role, "content": text} for role, text in zip(roles, turns, strict=True)]
    completion = trial.completion((yield from trial.chat(messages)))
    trial.expect("chat:answer:several-turns", True)
    trial.expect(
        "chat:answer:recalls",
        "zanzibar" in text_of(completion).lower(),
        text_of(completion) or "no text",
    )


@case(
    must(
        "chat:answer:system",
        "chat-api messages",
        "A message with the role `system` is accepted.",
        fault=[replies.REJECTED],
    ),
    capability(
        should(
            "chat:answer:obeys",
            "chat-api messages",
            "The model follows the system message.",
            fault=[replies.GOOD],
        )
    ),
    good=[replies.with_text("Banana.")],
)
def a_system_message_is_accepted(trial: Trial) -> Steps:
    """Request a word by a system message."""
    system = {"role": "system", "content": "Always include the word BANANA in your answer."}
    completion = trial.completion((yield from trial.chat([system, HELLO])))
    trial.expect("chat:answer:system", True)
    trial.expect(
        "chat:answer:obeys",
        "banana" in text_of(completion).lower(),
        text_of(completion) or "no text",
    )
