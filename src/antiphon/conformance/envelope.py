"""Errors: the one form that they have (specification section 13), and whether a refusal is the one that was due."""

from collections.abc import Sequence

from antiphon.conformance.exchange import Exchange
from antiphon.conformance.reading import at, is_text

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
