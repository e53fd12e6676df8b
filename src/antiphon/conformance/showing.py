"""Exchanges for a reader: long bodies cut."""

from collections.abc import Mapping

from antiphon.conformance.exchange import Exchange, Request
from antiphon.conformance.legible import legible
from antiphon.conformance.report import Shown

LONGEST = 4000
"""Characters of a body that are shown."""


def shown(exchange: Exchange) -> Shown:
    """Return an exchange as a report shows it."""
    return Shown(request=legible(_request(exchange.request)), answer=legible(_answer(exchange)))


def raw(exchange: Exchange) -> bytes:
    """Return an exchange with every byte of its bodies."""
    request = exchange.request
    asked = legible("\n".join([f"{request.method} {request.path}", *_lines(request.headers)]))
    told = legible("\n".join([str(exchange.status), *_lines(exchange.headers)]))
    fault = f"[{exchange.fault}]\n".encode() if exchange.fault else b""
    return b"\n\n".join([asked.encode(), request.data, told.encode(), exchange.body + b"\n" + fault])


def _request(request: Request) -> str:
    head = [f"{request.method} {request.path}", *_lines(request.headers)]
    return _joined(head, request.data)


def _answer(exchange: Exchange) -> str:
    head = [f"{exchange.status}" if exchange.status else "no answer"]
    head += _lines(exchange.headers)
    return _joined(head, exchange.body) + (f"\n[{exchange.fault}]" if exchange.fault else "")


def _lines(headers: Mapping[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items()]


def _joined(head: list[str], body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n[{len(text) - LONGEST} more characters]"
    return "\n".join(head) + (f"\n\n{text}" if text else "")
