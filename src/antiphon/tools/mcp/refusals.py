"""How servers word the refusal of a request with a session that they do not know."""

import re

_CODES = frozenset({-32600, -32000, -32001})
"""Codes of the SDKs: an invalid request, a bad request, and a session that was not found."""

LONGEST = 200
"""Characters of a message that are read."""

SHORTEST_ID = 8
"""Characters; a shorter id can be in any message."""

_ID = r"(?:mcp[- ])?(?:transport )?session(?:[-_ ]?id)?"
_LOST = (
    r"(?:not found|is not "
    r"found|unknown|terminated|expired|closed|invalid|required|missing|does not exist|not "
    r"valid)"
)
_REFUSES = re.compile(
    rf"(?:[a-z ]{{1,30}}: ?)?"
    rf"(?:(?:the |your |a )?{_ID}(?: header)?(?: (?:has|is|was|been|could|not be)){{0,3}} "
    rf"{_LOST}(?: or (?:has )?\w+)?"
    r"|(?:no|missing|invalid|unknown|expired|could not find)(?: or \w+)?(?: valid| active| "
    rf"such)? {_ID}"
    r"(?: (?:provided|found|header))?"
    r"|server (?:is )?not initiali[sz]ed)"
    r"(?:[.,;:(] ?.{0,100})?",
    re.IGNORECASE | re.DOTALL,
)


def refuses_session(code: int, message: str, session: str) -> bool:
    """Whether a protocol error refuses the session (its id) that a request carried, so that nothing
    was executed.

    A tool can fail because of a session of its own. So the error has a code of the SDKs and says
    nothing else, or it contains the id, which only the server's transport knows.
    """
    if not session:
        return False
    text = message.strip()
    if len(session) >= SHORTEST_ID and session in text and "session" in text.lower():
        return True
    return code in _CODES and len(text) <= LONGEST and _REFUSES.fullmatch(text) is not None
