"""Parameters, honoured and not."""

from antiphon_verify.areas.chat import parameters
from tests.unit.conformance.exchanges import Answer, Shown, chunks, error, says, shown, spoiled
from tests.unit.conformance.exchanges.completions import COMPLETION, END, ROLE, chunk

GOOD = says(COMPLETION)

WHOLE = "alpha beta gamma delta epsilon"

STOPPED = "alpha beta "

REFUSED = error("Invalid value.")


def telling(text: str) -> Answer:
    return GOOD.patched("choices", 0, "message", "content", to=text)


def streaming(text: str, finish_reason: str = "stop") -> Answer:
    return chunks(ROLE, chunk({"content": text}), chunk({}, finish_reason))


CUT = (
    telling("one two three four five six seven eight")
    .patched("choices", 0, "finish_reason", to="length")
    .patched("usage", "completion_tokens", to=8)
)

UNCUT = CUT.patched("usage", "completion_tokens", to=200)

OTHER = {"token": "Hi", "logprob": -2.0}

TOKENS = {"content": [{"token": "Hello.", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": [OTHER]}]}

LOGPROBS = GOOD.patched("choices", 0, "logprobs", to=TOKENS)

TWO = GOOD.patched("choices", to=[COMPLETION["choices"][0], COMPLETION["choices"][0] | {"index": 1}])

EXCHANGES: dict[str, Shown] = {
    **shown(
        parameters.a_text_is_stopped,
        [telling(STOPPED)],
        {
            "chat:parameters:stop": [telling(WHOLE)],
            "chat:parameters:stop-reason": [telling(STOPPED).patched("choices", 0, "finish_reason", to="length")],
        },
    ),
    **spoiled(parameters.a_text_is_stopped_at_one_of_several, [telling(STOPPED)], [telling(WHOLE)]),
    **spoiled(parameters.a_stream_is_stopped, [streaming(STOPPED)], [streaming(WHOLE)]),
    **shown(
        parameters.a_long_text_is_cut,
        [CUT],
        {
            "chat:parameters:max-tokens": [UNCUT],
            "chat:parameters:length": [CUT.patched("choices", 0, "finish_reason", to="stop")],
        },
    ),
    **spoiled(parameters.a_long_text_is_cut_by_the_newer_name, [CUT], [UNCUT]),
    **spoiled(parameters.a_long_chat_stream_is_cut, [streaming("one", "length")], [streaming(f"{WHOLE} {WHOLE}")]),
    **{name: one for case in parameters.TAKING for name, one in spoiled(case, [GOOD], [REFUSED]).items()},
    **spoiled(parameters.a_seed_repeats_itself, [GOOD, GOOD], [GOOD, telling("Hi.")]),
    **spoiled(parameters.two_choices_are_given, [TWO], [GOOD]),
    **shown(
        parameters.log_probabilities_are_given,
        [LOGPROBS],
        {
            "chat:parameters:logprobs": [GOOD],
            "chat:parameters:logprobs-bytes": [LOGPROBS.without("choices", 0, "logprobs", "content", 0, "bytes")],
            "chat:parameters:top-logprobs": [
                LOGPROBS.patched("choices", 0, "logprobs", "content", 0, "top_logprobs", to=[OTHER] * 3)
            ],
        },
    ),
    **spoiled(
        parameters.log_probabilities_are_in_the_chunks,
        [chunks(ROLE, {**END, "choices": [END["choices"][0] | {"logprobs": TOKENS}]})],
        [streaming("Hello.")],
    ),
}
