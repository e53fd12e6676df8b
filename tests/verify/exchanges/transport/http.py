"""HTTP itself."""

from dataclasses import replace

from antiphon.verify.cases.transport import http
from tests.verify.exchanges import Answer, Shown, error, says, shown, spoiled
from tests.verify.exchanges.bodies import RESPONSE

EMPTY = error("The body is empty.")

GOOD = says(RESPONSE)

BROKEN = error("Internal Server Error", 500)

LIST = says({"object": "list", "data": []})

SECOND = replace(LIST, is_reused=True, headers=LIST.headers | {"date": "Fri, 20 Nov 2026 12:00:00 GMT"})


def long(length: int) -> Answer:
    return replace(LIST, headers=LIST.headers | {"content-length": str(length)})


OWN = [GOOD.patched("id", to=f"resp_{number}") for number in range(4)]

EXCHANGES: dict[str, Shown] = {
    **shown(
        http.a_connection_serves_twice,
        [long(len(LIST.body)), SECOND],
        {
            "transport:http:kept-alive": [long(len(LIST.body)), replace(SECOND, is_reused=False)],
            "transport:http:length": [long(999), SECOND],
            "transport:http:date": [long(len(LIST.body)), replace(SECOND, headers={})],
        },
    ),
    **{name: one for case in http.ODD for name, one in spoiled(case, [error("No.", 405)], [BROKEN]).items()},
    **spoiled(http.a_compressed_body_is_sent, [EMPTY, error("No.", 415)], [EMPTY, BROKEN]),
    **spoiled(http.a_body_of_an_unknown_coding_is_sent, [EMPTY, error("No.", 415)], [EMPTY, GOOD]),
    **spoiled(http.plain_bytes_are_asked_for, [LIST], [replace(LIST, headers={"content-encoding": "gzip"})]),
    **spoiled(http.a_client_leaves, [EMPTY, GOOD, GOOD], [EMPTY, GOOD, BROKEN]),
    **spoiled(http.requests_are_sent_at_once, [EMPTY, *OWN], [EMPTY, GOOD, GOOD, GOOD, GOOD]),
    **spoiled(http.much_is_sent, [EMPTY, error("Too long.")], [EMPTY, BROKEN]),
    **{name: one for case in http.HEADED for name, one in spoiled(case, [EMPTY, GOOD], [EMPTY, BROKEN]).items()},
}
