"""Cases of one kind: something is sent that a server takes, whatever the model says to it."""

from collections.abc import Mapping
from typing import Any

from antiphon.conformance.case import Case, Script
from antiphon.conformance.exchange import Exchange
from antiphon.conformance.reading import at
from antiphon.conformance.trial import Asking, Steps, Trial, is_completion, is_response

Rows = Mapping[str, Mapping[str, Any]]
"""By the requirement's name: the parameters of a request."""


def taken_by_chat(area: str, rows: Rows, **always: Any) -> tuple[Case, ...]:
    """Return a case for each row: a chat completion comes of these parameters, and of those that all have."""
    return tuple(_case(f"chat:{area}:{name}", {**always, **row}) for name, row in rows.items())


def taken_by_responses(area: str, rows: Rows) -> tuple[Case, ...]:
    """Return a case for each row: a response comes of these parameters."""
    return tuple(_case(f"responses:{area}:{name}", row) for name, row in rows.items())


def is_taken(exchange: Exchange) -> bool:
    """Whether a completion came, or a response that has ended in order."""
    if is_completion(exchange.json):
        return exchange.is_ok
    return exchange.is_ok and is_response(exchange.json) and at(exchange.json, "status") in ("completed", "incomplete")


def _case(id: str, parameters: Mapping[str, Any]) -> Case:
    name = "".join(one if one.isalnum() else "_" for one in id)
    return Case(f"{name}_is_taken", (id,), _taking(id, parameters))


def _taking(id: str, parameters: Mapping[str, Any]) -> Script:
    def script(trial: Trial) -> Steps:
        exchange = yield from _send(trial, id, parameters)
        trial.offered(exchange)
        trial.expect(id, is_taken(exchange), exchange.came)

    script.__doc__ = f"Send {', '.join(parameters)}: {id.rpartition(':')[2].replace('-', ' ')}."
    return script


def _send(trial: Trial, id: str, parameters: Mapping[str, Any]) -> Asking:
    if id.startswith("chat:"):
        return trial.chat(**{"messages": "Say hello.", **parameters})
    return trial.respond(**{"input": "Say hello.", **parameters})
