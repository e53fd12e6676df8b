"""Exchanges for a reader: long bodies cut."""

from antiphon.verify.exchange import Exchange, Request
from antiphon.verify.report import Shown

LONGEST = 4000
"""Characters of a body that are shown."""


def shown(exchange: Exchange, longest: int | None = LONGEST) -> Shown:
    """Return an exchange as it is shown; `longest` None shows all of it."""
    return Shown(request=_request(exchange.request, longest), answer=_answer(exchange, longest))


def _request(request: Request, longest: int | None) -> str:
    head = [f"{request.method} {request.path}", *(f"{name}: {value}" for name, value in request.headers.items())]
    return _joined(head, request.data, longest)


def _answer(exchange: Exchange, longest: int | None) -> str:
    head = [f"{exchange.status}" if exchange.status else "no answer"]
    head += [f"{name}: {value}" for name, value in exchange.headers.items()]
    return _joined(head, exchange.body, longest) + (f"\n[{exchange.fault}]" if exchange.fault else "")


def _joined(head: list[str], body: bytes, longest: int | None) -> str:
    text = body.decode("utf-8", "replace")
    if longest is not None and len(text) > longest:
        text = f"{text[:longest]}\n[{len(text) - longest} more characters]"
    return "\n".join(head) + (f"\n\n{text}" if text else "")
