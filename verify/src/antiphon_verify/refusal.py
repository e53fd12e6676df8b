"""Rejections: the form of an error (specification section 13), and how a server reports that it
lacks a feature.
"""

import re
from collections.abc import Sequence

from antiphon_verify.exchange import Exchange, Request
from antiphon_verify.reading import at, is_text

KEYS = {"message", "type", "param", "code"}


def is_envelope(exchange: Exchange) -> bool:
    """Whether the response is an error that SDKs can read: `error` with a message.

    They need no type.
    """
    return is_text(at(exchange.json, "error", "message"))


def is_refused(exchange: Exchange) -> bool:
    """Whether the request was rejected as the client's error.

    The form of the error is a requirement of its own.
    """
    return not exchange.fault and 400 <= exchange.status < 500


UPSTREAM = {502, 503, 504}
"""Statuses with which a gateway reports a failure of another server."""


def is_reported(exchange: Exchange) -> bool:
    """Whether an HTTP error reports, with a message, that another server failed: OpenAI answers
    424.
    """
    return (is_refused(exchange) or exchange.status in UPSTREAM) and is_envelope(exchange)


def is_named(exchange: Exchange, codes: Sequence[str | None], params: Sequence[str | None]) -> bool:
    """Whether the error's code and param are among the accepted pairs; None means null or
    absent.
    """
    error = at(exchange.json, "error")
    code = at(error, "code") or None
    param = at(error, "param") or None
    return code in codes and param in params


ABSENT = {405, 426, 501}
"""Statuses that mean a missing feature: method not allowed, upgrade required, not implemented."""

REFUSED = {400, 403, 422}
"""Statuses with which servers reject missing features: bad request, forbidden, unprocessable."""

CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter", "not_implemented"}
"""Error codes that mean a missing feature."""

LEFT_OUT = "antiphon-ignored-tools"
"""A header that means a missing feature: it names the tools that were not sent to the model."""

ANSWERS = {"id", "object", "data", "output", "choices"}
"""Keys of the API's responses; a body with `error` and none of these is an error, whatever its
status.
"""

NAMED = re.compile(
    r"\b(response|conversation|item|model|endpoint|completion|container|prompt)s?\b.*"
    r"(not found|does not exist|not exist)"
    r"|\bno (such )?(vector store|file|upload)\b",
    re.IGNORECASE,
)
"""A 404 with such a message means that the path is served, and the object does not exist."""


THINGS = {f"{thing}_not_found" for thing in ("model", "response", "conversation", "item")}
"""Codes and types of errors about a missing object."""


def path_absence(exchange: Exchange) -> str | None:
    """Return how the server reports that it does not serve the path or the method, None if it does
    not.
    """
    is_absent = exchange.status in ABSENT or (
        exchange.status == 404 and not _names_a_thing(exchange)
    )
    return f"status {exchange.status}" if is_absent else None


def hidden_error(exchange: Exchange) -> str:
    """Return the error, without the path, of a response with a success status and nothing else; ""
    without one.

    Some servers respond in this way to unknown paths.
    """
    body = exchange.json
    is_error = (
        exchange.is_ok
        and isinstance(body, dict)
        and body.get("error")
        and body.keys().isdisjoint(ANSWERS)
    )
    return message_of(exchange).replace(exchange.request.path, "") if is_error else ""


def named_lack(exchange: Exchange) -> str | None:
    """Return how an error's code reports that the server lacks a parameter of the request, None if
    it does not.
    """
    if left_out := exchange.headers.get(LEFT_OUT):
        return f"omitted: {left_out}"
    code = at(exchange.json, "error", "code")
    if exchange.status not in REFUSED or not isinstance(code, str) or code not in CODES:
        return None
    root = param_root(exchange)
    return (
        lacking(exchange) if root is not None and root in optional_keys(exchange.request) else None
    )


def lacking(exchange: Exchange) -> str:
    """Return a rejection in the server's words."""
    return f"status {exchange.status}: {message_of(exchange)[:160]}"


CORE = {
    "model",
    "input",
    "messages",
    "stream",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
}
"""Parameters of a minimal request."""


def optional_keys(request: Request) -> set[str]:
    """Return the optional parameters of a request; a null value counts as absent."""
    body = request.body if isinstance(request.body, dict) else {}
    return {name for name, value in body.items() if value is not None} - CORE


def param_root(exchange: Exchange) -> str | None:
    """Return the parameter of the request that an error names: `tools` for `tools[0].type`.

    None if it names none.
    """
    param = at(exchange.json, "error", "param")
    found = re.match(r"(?:body\.)?(\w+)", param) if isinstance(param, str) else None
    return found[1] if found else None


def message_of(exchange: Exchange) -> str:
    """Return the error's message, wherever servers place it; the body without a message."""
    for path in (("error", "message"), ("message",), ("detail",), ("error",)):
        found = at(exchange.json, *path)
        if isinstance(found, str):
            return found
    return exchange.body[:500].decode("utf-8", "replace")


def _names_a_thing(exchange: Exchange) -> bool:
    message = message_of(exchange).replace(exchange.request.path, "")
    if (
        at(exchange.json, "error", "code") == "unknown_url"
        or "unknown request url" in message.lower()
    ):
        return False
    if {
        at(exchange.json, "error", key)
        for key in ("code", "type")
        if is_text(at(exchange.json, "error", key))
    } & THINGS:
        return True
    named = exchange.request.path.partition("?")[0].rpartition("/")[2]
    return bool(NAMED.search(message)) or (len(named) > 20 and named in message)
