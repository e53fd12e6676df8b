"""How a server wants to be asked: how much at once, and by which name the limit of a chat's tokens goes."""

from collections.abc import Callable
from dataclasses import dataclass

from antiphon.conformance.exchange import Request
from antiphon.conformance.http import Visit
from antiphon.conformance.refusal import message_of, path_absence
from antiphon.conformance.trial import Trial

MOST_AT_ONCE = 8

PROBE = "Say hello."


@dataclass(frozen=True, slots=True)
class Manners:
    """`at_once` cases run side by side; `cap` is the name of the limit of a chat completion's tokens."""

    at_once: int = MOST_AT_ONCE
    cap: str = "max_tokens"


async def find_manners(visit: Visit, model: str, now: Callable[[], float]) -> Manners:
    """Find out how a server wants to be asked.

    Two streams at once tell how much at once: a server that takes a second for both is asked eight things, one that
    takes eight seconds, or breaks off one stream for the other, one after the other.
    """
    trial = Trial((), model)
    return Manners(await _at_once(visit, trial, now), await _cap(visit, trial))


async def _at_once(visit: Visit, trial: Trial, now: Callable[[], float]) -> int:
    bodies = {"/responses": trial.response_body(PROBE), "/chat/completions": trial.chat_body(PROBE)}
    for path, body in bodies.items():
        request = Request(method="POST", path=path, body=body | {"stream": True})
        began = now()
        exchanges = await visit.together(request, request)
        if all(path_absence(exchange) is None for exchange in exchanges):
            is_whole = all(exchange.is_ok for exchange in exchanges)
            return max(1, int(MOST_AT_ONCE / max(now() - began, 1.0))) if is_whole else 1
    return MOST_AT_ONCE


async def _cap(visit: Visit, trial: Trial) -> str:
    """Return the newer name where the server asks for it, as OpenAI's does for models that reason."""
    exchange = await visit.fetch(Request(method="POST", path="/chat/completions", body=trial.chat_body(PROBE)))
    wants_other = exchange.status == 400 and "max_completion_tokens" in message_of(exchange)
    return "max_completion_tokens" if wants_other else "max_tokens"
