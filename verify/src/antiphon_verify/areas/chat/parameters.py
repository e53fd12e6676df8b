"""Parameters of Chat Completions, and whether they take effect."""

from typing import Any

from antiphon_verify.areas.chat.answer import text_of
from antiphon_verify.areas.chat.stream import choices_of, chunks_of
from antiphon_verify.areas.chat.stream import text_of as streamed_text
from antiphon_verify.case import case
from antiphon_verify.reading import MISSING, at, is_integer, listed, preview
from antiphon_verify.replies import chunks
from antiphon_verify.replies.chat import parameters as replies
from antiphon_verify.replies.completions import END, ROLE
from antiphon_verify.requirement import Stop, capability, may, must, should
from antiphon_verify.samples import accepted, is_token
from antiphon_verify.trial import Steps, Trial

ECHO = "Repeat these words: alpha beta gamma delta epsilon."

STOP = "gamma"

BEFORE = "beta"

LONG = "Count from 1 to 100 in words, separated by blanks: one two three and so on."

FEW = 8
"""A number of tokens too small for the text."""

SHORT = "The text was shorter than the limit."


def judge_stop(trial: Trial, id: str, text: str) -> bool:
    """Judge whether the text ends before the stop sequence.

    A text that does not repeat the words shows nothing.
    """
    if STOP not in text and BEFORE not in text:
        raise Stop("skipped", f"The model did not repeat the words: {preview(text)}")
    return trial.expect(id, STOP not in text, text)


@case(
    must(
        "chat:parameters:stop",
        "chat-api create",
        "A `stop` sequence ends the text before the sequence.",
        fault=[replies.with_text(replies.WHOLE)],
    ),
    asides=(
        should(
            "chat:parameters:stop-reason",
            "chat-api create",
            "A text that a `stop` sequence ended has the finish reason `stop`.",
            fault=[
                replies.with_text(replies.STOPPED).patched(
                    "choices", 0, "finish_reason", to="length"
                )
            ],
        ),
    ),
    good=[replies.with_text(replies.STOPPED)],
)
def a_text_is_stopped(trial: Trial) -> Steps:
    """Stop a text at a word."""
    completion = trial.completion((yield from trial.chat(ECHO, stop=STOP)))
    if judge_stop(trial, "chat:parameters:stop", text_of(completion)):
        reason = at(completion, "choices", 0, "finish_reason")
        trial.expect("chat:parameters:stop-reason", reason == "stop", preview(reason))


@case(
    must(
        "chat:parameters:stop-list",
        "chat-api create",
        "`stop` can be a list.",
        fault=[replies.with_text(replies.WHOLE)],
    ),
    good=[replies.with_text(replies.STOPPED)],
)
def a_text_is_stopped_at_one_of_several(trial: Trial) -> Steps:
    """Stop a text at one of two words."""
    completion = trial.completion((yield from trial.chat(ECHO, stop=["nowhere", STOP])))
    judge_stop(trial, "chat:parameters:stop-list", text_of(completion))


@case(
    should(
        "chat:parameters:stop-streamed",
        "chat-api create",
        "A `stop` sequence ends a streamed text.",
        fault=[replies.streaming(replies.WHOLE)],
    ),
    good=[replies.streaming(replies.STOPPED)],
)
def a_stream_is_stopped(trial: Trial) -> Steps:
    """Stop a streamed text at a word."""
    chunks = chunks_of(trial, (yield from trial.chat(ECHO, stop=STOP, stream=True)))
    judge_stop(trial, "chat:parameters:stop-streamed", streamed_text(chunks))


@case(
    must(
        "chat:parameters:max-tokens",
        "chat-api create",
        "`max_tokens` limits the number of completion tokens.",
        fault=[replies.UNCUT],
    ),
    must(
        "chat:parameters:length",
        "chat-api create",
        "A text cut off by `max_tokens` has the finish reason `length`.",
        fault=[replies.CUT.patched("choices", 0, "finish_reason", to="stop")],
    ),
    good=[replies.CUT],
)
def a_long_text_is_cut(trial: Trial) -> Steps:
    """Request a long text with a low token limit."""
    completion = trial.completion((yield from trial.chat(LONG, max_tokens=FEW)))
    judge_cut(trial, completion, "chat:parameters:max-tokens")
    reason = at(completion, "choices", 0, "finish_reason")
    trial.expect("chat:parameters:length", reason == "length", preview(reason))


@case(
    should(
        "chat:parameters:max-completion-tokens",
        "chat-api create",
        "`max_completion_tokens` limits the number of completion tokens as `max_tokens` does.",
        fault=[replies.UNCUT],
    ),
    good=[replies.CUT],
)
def a_long_text_is_cut_by_the_newer_name(trial: Trial) -> Steps:
    """Request a long text with a low limit of completion tokens."""
    completion = trial.completion(
        (yield from trial.chat(LONG, max_tokens=MISSING, max_completion_tokens=FEW))
    )
    judge_cut(trial, completion, "chat:parameters:max-completion-tokens")


def judge_cut(trial: Trial, completion: dict[str, Any], id: str) -> None:
    """Judge whether the number of tokens stays within the limit."""
    used = at(completion, "usage", "completion_tokens")
    if is_integer(used):
        trial.expect(id, used <= FEW, f"{used} tokens")
        if used < FEW and at(completion, "choices", 0, "finish_reason") == "stop":
            raise Stop("skipped", SHORT)
    else:
        trial.expect(id, len(text_of(completion)) < 100, text_of(completion))


def tokens_of(chunks: list[dict[str, Any]]) -> int:
    """Return how many tokens a stream used; if it does not report them, how many deltas or words it
    has at least.
    """
    reported = [
        used for chunk in chunks if is_integer(used := at(chunk, "usage", "completion_tokens"))
    ]
    pieces = [one for one in choices_of(chunks) if at(one, "delta", "content")]
    return reported[-1] if reported else max(len(pieces), len(streamed_text(chunks).split()))


@case(
    must(
        "chat:parameters:length-streamed",
        "chat-api create",
        "A stream cut off by `max_tokens` has the finish reason `length`.",
        fault=[replies.streaming(f"{replies.WHOLE} {replies.WHOLE}")],
    ),
    good=[replies.streaming("one", "length")],
)
def a_long_chat_stream_is_cut(trial: Trial) -> Steps:
    """Stream a long text with a low token limit."""
    chunks = chunks_of(trial, (yield from trial.chat(LONG, max_tokens=FEW, stream=True)))
    reasons = [reason for one in choices_of(chunks) if (reason := at(one, "finish_reason"))]
    if reasons == ["stop"] and tokens_of(chunks) < FEW:
        raise Stop("skipped", SHORT)
    trial.expect("chat:parameters:length-streamed", reasons == ["length"], reasons)


NULLS = (
    "temperature",
    "top_p",
    "stop",
    "tools",
    "tool_choice",
    "response_format",
    "user",
    "stream",
    "n",
    "seed",
)


ACCEPTED = (
    accepted(
        must("chat:parameters:temperature", "chat-api create", "A `temperature` of 2 is accepted."),
        temperature=2,
    ),
    accepted(
        must(
            "chat:parameters:temperature-zero",
            "chat-api create",
            "A `temperature` of 0 is accepted.",
        ),
        temperature=0,
    ),
    accepted(must("chat:parameters:top-p", "chat-api create", "`top_p` is accepted."), top_p=0.5),
    accepted(
        should(
            "chat:parameters:penalties",
            "chat-api create",
            "`presence_penalty` and `frequency_penalty` are accepted.",
        ),
        presence_penalty=0.5,
        frequency_penalty=0.5,
    ),
    accepted(should("chat:parameters:seed", "chat-api create", "`seed` is accepted."), seed=7),
    accepted(
        should("chat:parameters:user", "chat-api create", "`user` is accepted."), user="user-1"
    ),
    accepted(
        should("chat:parameters:nulls", "chat-api create", "Optional parameters can be null."),
        **dict.fromkeys(NULLS),
    ),
)


@case(
    capability(
        should(
            "chat:parameters:seed-repeats",
            "chat-api create",
            "The same seed returns the same text at temperature 0.",
            fault=[replies.GOOD, replies.with_text("Hi.")],
        )
    ),
    good=[replies.GOOD, replies.GOOD],
)
def a_seed_repeats_itself(trial: Trial) -> Steps:
    """Send the same request twice with a seed."""
    options = {"seed": 7, "temperature": 0}
    first = text_of(trial.completion((yield from trial.chat("Write a short joke.", **options))))
    second = text_of(trial.completion((yield from trial.chat("Write a short joke.", **options))))
    trial.expect("chat:parameters:seed-repeats", first == second, [first, second])


@case(
    should(
        "chat:parameters:n",
        "chat-api create",
        "`n: 2` returns two choices, with the indexes 0 and 1.",
        fault=[replies.GOOD],
    ),
    good=[replies.TWO],
)
def two_choices_are_returned(trial: Trial) -> Steps:
    """Request two choices."""
    completion = trial.completion((yield from trial.chat("Say hello.", n=2, temperature=1)))
    indexes = [at(choice, "index") for choice in listed(completion, "choices")]
    trial.expect("chat:parameters:n", indexes in ([0, 1], [1, 0]), indexes)


def has_bytes(token: Any) -> bool:
    """Whether a token has `bytes`, null or a list of integers."""
    octets = at(token, "bytes")
    return octets is None or (isinstance(octets, list) and all(map(is_integer, octets)))


@case(
    should(
        "chat:parameters:logprobs",
        "chat-api create",
        "`logprobs: true` returns a list of tokens, each with its `logprob`.",
        fault=[replies.GOOD],
    ),
    asides=(
        may(
            "chat:parameters:logprobs-bytes",
            "chat-api create",
            "Each token has `bytes`, a list of integers or null.",
            fault=[replies.LOGPROBS.without("choices", 0, "logprobs", "content", 0, "bytes")],
        ),
        should(
            "chat:parameters:top-logprobs",
            "chat-api create",
            "`top_logprobs` limits the alternatives of each token.",
            fault=[
                replies.LOGPROBS.patched(
                    "choices", 0, "logprobs", "content", 0, "top_logprobs", to=[replies.OTHER] * 3
                )
            ],
        ),
    ),
    good=[replies.LOGPROBS],
)
def log_probabilities_are_returned(trial: Trial) -> Steps:
    """Request log probabilities."""
    completion = trial.completion(
        (yield from trial.chat("Say hello.", logprobs=True, top_logprobs=2))
    )
    tokens = listed(completion, "choices", 0, "logprobs", "content")
    are_right = bool(tokens) and all(map(is_token, tokens))
    if trial.expect(
        "chat:parameters:logprobs", are_right, preview(at(completion, "choices", 0, "logprobs"))
    ):
        trial.expect("chat:parameters:logprobs-bytes", all(map(has_bytes, tokens)), tokens)
        tops = [listed(token, "top_logprobs") for token in tokens]
        are_right = any(tops) and all(len(top) <= 2 and all(map(is_token, top)) for top in tops)
        trial.expect("chat:parameters:top-logprobs", are_right, tops)


@case(
    should(
        "chat:parameters:logprobs-streamed",
        "chat-api create",
        "Streams contain log probabilities when requested.",
        fault=[replies.streaming("Hello.")],
    ),
    good=[chunks(ROLE, {**END, "choices": [END["choices"][0] | {"logprobs": replies.TOKENS}]})],
)
def log_probabilities_are_in_the_chunks(trial: Trial) -> Steps:
    """Stream log probabilities."""
    chunks = chunks_of(trial, (yield from trial.chat("Say hello.", logprobs=True, stream=True)))
    tokens = [token for one in choices_of(chunks) for token in listed(one, "logprobs", "content")]
    trial.expect(
        "chat:parameters:logprobs-streamed",
        bool(tokens) and all(map(is_token, tokens)),
        preview(chunks[-1]),
    )
