"""Whether a server says that it lacks something, which is not the same as doing it wrong."""

import re

from antiphon.conformance.exchange import Exchange
from antiphon.conformance.reading import at

ABSENT = {405, 426, 501}
"""Statuses that say so by themselves: method not allowed, no upgrade here, not implemented."""

CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter", "not_implemented", "unknown_url"}
"""Error codes that say so."""

LEFT_OUT = "antiphon-ignored-tools"
"""A header that says so: it names the tools that the model was not told of."""

WORDS = re.compile(
    r"not (yet |currently )?(be )?(supported|implemented|available|served|enabled|permitted)|unsupported|unrecognized|"
    r"extra (inputs|fields) (are )?not permitted|unknown (parameter|field|name)|does(n't| not) support|no support",
    re.IGNORECASE,
)
"""Messages that say so: vLLM, llama.cpp, Ollama, FastAPI and Go servers each in their way."""

NAMED = re.compile(
    r"\b(response|conversation|item|model|endpoint)s?\b.*(not found|does not exist|not exist)", re.IGNORECASE
)
"""A 404 that names a thing: the path is served, the thing is not there."""


def absence(exchange: Exchange) -> str | None:
    """Return how the server says that it lacks what was asked for, None where it does not say so."""
    if (lack := path_absence(exchange)) is not None or exchange.status == 404:
        return lack
    if left_out := exchange.headers.get(LEFT_OUT):
        return f"left out: {left_out}"
    if not 400 <= exchange.status < 600:
        return None
    code, message = at(exchange.json, "error", "code"), message_of(exchange)
    if (isinstance(code, str) and code in CODES) or WORDS.search(message):
        return f"status {exchange.status}: {message[:160]}"
    return None


def path_absence(exchange: Exchange) -> str | None:
    """Return how the server says that it does not serve the path or the method, None where it does not say so."""
    is_absent = exchange.status in ABSENT or (exchange.status == 404 and not _names_a_thing(exchange))
    return f"status {exchange.status}" if is_absent else None


def message_of(exchange: Exchange) -> str:
    """Return the error's message, in whatever place servers put it; the body where there is none."""
    for path in (("error", "message"), ("message",), ("detail",), ("error",)):
        found = at(exchange.json, *path)
        if isinstance(found, str):
            return found
    return exchange.body[:500].decode("utf-8", "replace")


def _names_a_thing(exchange: Exchange) -> bool:
    message = message_of(exchange).replace(exchange.request.path, "")
    if at(exchange.json, "error", "code") == "unknown_url" or "unknown request url" in message.lower():
        return False
    named = exchange.request.path.partition("?")[0].rpartition("/")[2]
    return bool(NAMED.search(message)) or (len(named) > 20 and named in message)
