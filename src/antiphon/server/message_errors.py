"""Errors of the Messages API's paths, in the envelope of that API: loaded by the first of them."""

from collections.abc import Callable

from antiphon.errors import AntiphonError
from antiphon.gateway import JsonObject
from antiphon.http_server.asgi import RawHeaders
from antiphon.protocol.messages.errors import Size, error_body, headers_of, status_of
from antiphon.protocol.messages.wording import dotted
from antiphon.server.reply import raw_headers
from antiphon.server.request import HttpRequest

REQUEST_ID = b"request-id"
"""The header with the request's id, as clients of this API read it."""

PLACE = "antiphon.place"
"""The key in a scope for the function that returns the place in the client's request for a
parameter of the response request.
"""

SIZE = "antiphon.size"
"""The key in a scope for the function that returns how long the prompt is, and how long it can
be.
"""


def error_reply(
    error: AntiphonError, http: HttpRequest, request_id: str
) -> tuple[int, RawHeaders, JsonObject]:
    """Return status, headers and body for an error, in words on which clients of the API act."""
    place: Callable[[str], str] = http.scope.get(PLACE, dotted)
    find_size: Callable[[], Size | None] = http.scope.get(SIZE, lambda: None)
    body = error_body(error, request_id, error.size or find_size(), place)
    headers = [(REQUEST_ID, request_id.encode()), *raw_headers(headers_of(error))]
    return status_of(error), headers, body
