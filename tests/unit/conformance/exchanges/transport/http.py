"""HTTP itself."""

from dataclasses import replace

from antiphon_verify.areas.transport import http
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled
from tests.unit.conformance.exchanges.bodies import RESPONSE

GOOD = says(RESPONSE)

BROKEN = error("Internal Server Error", 500)

LIST = says({"object": "list", "data": []})

DATED = LIST.headers | {"date": "Fri, 20 Nov 2026 12:00:00 GMT"}


def second(length: int = len(LIST.body), *, is_reused: bool = True) -> Answer:
    return replace(LIST, is_reused=is_reused, headers=DATED | {"content-length": str(length)})


OWN = [GOOD.patched("id", to=f"resp_{number}") for number in range(4)]

EXCHANGES: dict[str, Shown] = {
    **shown(
        http.a_connection_serves_twice,
        [LIST, second()],
        {
            "transport:http:kept-alive": [LIST, second(is_reused=False)],
            "transport:http:length": [LIST, second(999)],
            "transport:http:date": [LIST, replace(second(), headers={})],
        },
    ),
    **spoiled(http.a_head_is_asked, [LIST, error("No.", 405)], [LIST, BROKEN]),
    **spoiled(http.options_are_asked, [error("No.", 405)], [BROKEN]),
    **spoiled(http.a_compressed_body_is_sent, [GOOD, error("No.", 415)], [GOOD, BROKEN]),
    **spoiled(http.a_query_is_sent_along, [GOOD, GOOD], [GOOD, error("Unknown query.")]),
    **spoiled(http.a_body_of_an_unknown_coding_is_sent, [GOOD, error("No.", 415)], [GOOD, GOOD]),
    **spoiled(http.plain_bytes_are_asked_for, [LIST], [replace(LIST, headers={"content-encoding": "gzip"})]),
    **spoiled(http.a_client_leaves, [GOOD, GOOD, GOOD], [GOOD, GOOD, BROKEN]),
    **spoiled(http.requests_are_sent_at_once, [GOOD, *OWN], [GOOD, GOOD, GOOD, GOOD, GOOD]),
    **spoiled(http.much_is_sent, [GOOD, error("Too long.")], [GOOD, BROKEN]),
    **{name: one for case in http.HEADED for name, one in spoiled(case, [GOOD, GOOD], [GOOD, BROKEN]).items()},
}
