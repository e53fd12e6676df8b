"""Refusals: the form of an error (specification section 13), bad requests as data, and features that a server lacks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from antiphon.conformance.exchange import Exchange
from antiphon.conformance.reading import at, is_text
from antiphon.conformance.requirement import Level, Requirement, Table

KEYS = {"message", "type", "param", "code"}


def is_envelope(exchange: Exchange) -> bool:
    """Whether the answer is an error that SDKs can read: `error` with a message and a type."""
    error = at(exchange.json, "error")
    return is_text(at(error, "message")) and is_text(at(error, "type"))


def is_refused(exchange: Exchange, *statuses: int) -> bool:
    """Whether the request was refused with one of these statuses and an error that SDKs can read."""
    return not exchange.fault and exchange.status in (statuses or (400,)) and is_envelope(exchange)


def is_named(exchange: Exchange, codes: Sequence[str | None], params: Sequence[str | None]) -> bool:
    """Whether the error's code and param are among those given; None stands for null or absence."""
    error = at(exchange.json, "error")
    code, param = at(error, "code") or None, at(error, "param") or None
    return code in codes and param in params


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


@dataclass(frozen=True, slots=True)
class Refusal:
    """How one bad request is refused. `what` begins a sentence: `A request without a model`."""

    what: str
    code: str | None = None
    param: str | None = None
    level: Level = "must"
    source: str = "spec 13"
    statuses: tuple[int, ...] = (400,)
    others: tuple[tuple[str | None, str | None], ...] = field(default=())
    """Further pairs of code and param that are as good: sources differ."""

    @property
    def is_named(self) -> bool:
        """Whether OpenAI's error names it by a code or a param."""
        return bool(self.code or self.param)


def refusal_table(area: str, refusals: Mapping[str, Refusal]) -> Table:
    """Return two requirements for each: that it is refused, and that the error names it."""
    return tuple(
        requirement
        for name, refusal in refusals.items()
        for requirement in (_refused(area, name, refusal), *_named(area, name, refusal))
    )


def _refused(area: str, name: str, refusal: Refusal) -> Requirement:
    statuses = " or ".join(map(str, refusal.statuses))
    sentence = f"{refusal.what} is refused with {statuses} and an error that SDKs can read."
    return Requirement(f"{area}:{name}", refusal.level, refusal.source, sentence)


def _named(area: str, name: str, refusal: Refusal) -> Table:
    if not refusal.is_named:
        return ()
    words = [f"the {key} `{value}`" for key, value in (("code", refusal.code), ("param", refusal.param)) if value]
    sentence = f"{refusal.what} is told by {' and '.join(words)}."
    level: Level = "may" if refusal.level == "may" else "should"
    return (Requirement(f"{area}:{name}-named", level, refusal.source, sentence),)
