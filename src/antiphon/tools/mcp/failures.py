"""The errors of a session with an MCP server, worded for clients. `owner` is the server's name in
them.
"""

import re

import mcp_types as types
from mcp.shared.exceptions import MCPError

from antiphon.tools.mcp.result import ServerError, refused
from antiphon.tools.mcp.wire import SLOW, McpExchange

_PARSE = "Failed to parse "
"""The SDK's text for an invalid message; pydantic's text follows."""

_CLOSED = "Connection closed"
"""The SDK's text for a closed connection."""

_NOT_MCP = "Unexpected content type: "
"""The SDK's text for a response that is neither JSON nor events; the type follows."""

_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")


def http_failure(owner: str, exchange: McpExchange) -> ServerError | None:
    """Return the HTTP error of a request, if it has one."""
    if exchange.failure:
        return ServerError(f"{owner} failed: {exchange.failure}.", is_slow=exchange.failure == SLOW)
    if not exchange.was_refused:
        return None
    status = f"HTTP status {exchange.status}{_meaning(exchange.status)}"
    return ServerError(f"{owner} answered with {status}.", code=exchange.status)


def session_failure(
    owner: str, error: Exception, ending: ServerError | None, *, is_program: bool
) -> ServerError:
    """Return an error other than an HTTP error.

    `ending` is how the session has ended, None if it is open.
    """
    if isinstance(error, TimeoutError):
        return ServerError(f"{owner} did not answer in time.", is_slow=True)
    if isinstance(error, MCPError) and error.message.startswith(_NOT_MCP):
        return ServerError(f"{owner} returned {_type(error.message)}: check the URL.")
    if isinstance(error, MCPError) and error.message.startswith(_PARSE):
        return refused(types.PARSE_ERROR, f"{owner} sent an invalid MCP message.")
    if isinstance(error, MCPError) and not is_closed(error):
        return refused(error.code, error.message)
    if isinstance(error, ValueError):
        return refused(
            types.INTERNAL_ERROR, f"{owner} returned a response that violates the protocol."
        )
    if isinstance(error, OSError) and is_program:
        return ServerError(f"{owner} cannot be started: {error.strerror or type(error).__name__}.")
    if ending is not None:
        return ending
    return refused(
        types.INTERNAL_ERROR,
        f"{owner} supports no protocol version that this server supports.",
    )


def program_exited(owner: str, status: int | None, last: str) -> ServerError:
    """Return the error for a program that has exited, with the status if it is known.

    Its last output is for the operator alone.
    """
    what = "its program exited" + (f" with status {status}" if status is not None else "")
    logged = f"{what}; its last output: {last}" if last else what
    return ServerError(f"{owner} failed: {what}.", gist=f"{owner} failed: {logged}")


def connection_closed(owner: str) -> ServerError:
    """Return the error for a connection that has ended."""
    return ServerError(f"{owner} failed: the connection was closed.")


def is_closed(error: Exception) -> bool:
    """Whether the SDK reports that the connection has ended."""
    return (
        isinstance(error, MCPError)
        and error.code == types.CONNECTION_CLOSED
        and error.message == _CLOSED
    )


def _type(message: str) -> str:
    found = _TYPE.match(message.removeprefix(_NOT_MCP))
    return found[0] if found else "no content type"


def _meaning(status: int) -> str:
    if status in (401, 403):
        return ": it rejected the authorization of the request"
    return ": redirects are not followed" if status < 400 else ""
