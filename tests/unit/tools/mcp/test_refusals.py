"""Which protocol errors refuse the session of a request, so that a call can be repeated safely."""

from antiphon.tools.mcp.refusals import refuses_session
from tests.support.cases import each

SESSION = "0f3c2a9d41"


@each(
    ("code", "message"),
    [
        (-32001, "Session not found"),
        (-32600, "Session has been terminated"),
        (-32600, "Session terminated"),
        (-32000, "Bad Request: No valid session ID provided"),
        (-32000, "Bad Request: Mcp-Session-Id header is required"),
        (-32000, "Bad Request: Server not initialized"),
        (-32600, "Bad Request: Missing session ID"),
        (-32600, "Not Found: Invalid or expired session ID"),
        (-32000, "Invalid session. Please reinitialize."),
        (-32000, "Unknown session"),
        (-32603, f"There is no session {SESSION} here"),
    ],
)
def test_an_error_that_names_the_session_refuses_it(code: int, message: str) -> None:
    assert refuses_session(code, message, SESSION)


@each(
    ("code", "message"),
    [
        (-32603, "Session not found"),
        (-32001, "The browser session was closed after the form was sent"),
        (-32000, "Could not save the session of the user"),
        (-32001, "Payment sent, but the session expired"),
        (-32602, "Invalid parameters"),
        (-32001, ""),
        (-32001, "Session not found " * 100),
    ],
)
def test_an_error_of_a_tool_refuses_no_session(code: int, message: str) -> None:
    assert not refuses_session(code, message, SESSION)


def test_a_request_without_a_session_is_never_refused_for_it() -> None:
    assert not refuses_session(-32001, "Session not found", "")
