"""Input tokens."""

from antiphon_verify.areas.responses import input_tokens
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled
from tests.unit.conformance.exchanges.bodies import RESPONSE


def counted(number: int, exactness: str = "exact") -> Answer:
    body = {"object": "response.input_tokens", "input_tokens": number}
    return says(body, antiphon_token_count=exactness)


SHORT, LONG = counted(12), counted(99)

USED = says(RESPONSE)

EXCHANGES: dict[str, Shown] = {
    **shown(
        input_tokens.tokens_are_counted_beforehand,
        [SHORT, LONG, LONG, USED],
        {
            "responses:input-tokens:object": [SHORT.patched("object", to="tokens"), LONG, LONG, USED],
            "responses:input-tokens:count": [counted(0)],
            "responses:input-tokens:grows": [SHORT, SHORT, LONG, USED],
            "responses:input-tokens:extras": [SHORT, LONG, SHORT, USED],
            "responses:input-tokens:exactness": [counted(12, "about"), LONG, LONG, USED],
            "responses:input-tokens:equals": [counted(13), LONG, LONG, USED],
        },
    ),
    **spoiled(input_tokens.a_number_is_no_input, [error("Invalid type.")], [SHORT]),
}
