"""Plain answers."""

from antiphon_verify.areas.chat import answer
from tests.unit.conformance.exchanges import Answer, Shown, chunks, error, says, shown, spoiled
from tests.unit.conformance.exchanges.completions import CHUNKS, COMPLETION

GOOD = says(COMPLETION)

CHOICE = ("choices", 0)


def telling(text: str) -> Answer:
    return GOOD.patched(*CHOICE, "message", "content", to=text)


PARIS = telling("Paris.")

REFUSED = error("Invalid value.")

STREAM = chunks(*CHUNKS)

EXCHANGES: dict[str, Shown] = {
    **spoiled(answer.a_completion_is_made, [GOOD], [says({})]),
    **spoiled(answer.a_completion_is_no_stream_unless_asked, [GOOD], [STREAM]),
    **shown(
        answer.a_question_is_answered,
        [PARIS],
        {
            "chat:answer:object": [PARIS.patched("object", to="text_completion")],
            "chat:answer:id": [PARIS.without("id")],
            "chat:answer:created": [PARIS.patched("created", to="today")],
            "chat:answer:model": [PARIS.without("model")],
            "chat:answer:choices": [PARIS.without(*CHOICE, "index")],
            "chat:answer:message": [PARIS.without(*CHOICE, "message", "role")],
            "chat:answer:content": [PARIS.patched(*CHOICE, "message", "content", to=None)],
            "chat:answer:finish-reason": [PARIS.patched(*CHOICE, "finish_reason", to="eos")],
            "chat:answer:refusal": [PARIS.without(*CHOICE, "message", "refusal")],
            "chat:answer:logprobs": [PARIS.without(*CHOICE, "logprobs")],
            "chat:answer:usage": [PARIS.without("usage")],
            "chat:answer:usage-total": [PARIS.patched("usage", "total_tokens", to=99)],
            "chat:answer:usage-counted": [PARIS.patched("usage", to=dict.fromkeys(answer.COUNTS, 0))],
            "chat:answer:answers": [telling("Rome.")],
        },
    ),
    **spoiled(answer.two_questions_have_two_ids, [GOOD, GOOD.patched("id", to="chatcmpl-2")], [GOOD, GOOD]),
    **{name: one for case in answer.TAKING for name, one in spoiled(case, [GOOD], [REFUSED]).items()},
    **shown(
        answer.turns_are_remembered,
        [telling("Zanzibar.")],
        {"chat:answer:several-turns": [REFUSED], "chat:answer:recalls": [GOOD]},
    ),
    **shown(
        answer.a_system_message_is_taken,
        [telling("Banana.")],
        {"chat:answer:system": [REFUSED], "chat:answer:obeys": [GOOD]},
    ),
}
