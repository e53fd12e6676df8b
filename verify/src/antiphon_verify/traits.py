"""How to send requests to a server: how many at once, and the name of the token limit of chat
completions.
"""

from collections.abc import Callable
from dataclasses import replace

from antiphon_verify.exchange import Exchange, Request
from antiphon_verify.http import Visit
from antiphon_verify.refusal import hidden_error, message_of, path_absence
from antiphon_verify.trial import MOST_AT_ONCE, Traits, Trial, is_completion, is_response

PROBE = "Say hello."

UNKNOWN_PATH = "/no-such-path-anywhere"


async def find_traits(visit: Visit, model: str, now: Callable[[], float]) -> Traits:
    """Find out how to send requests to a server.

    Two concurrent streams show the concurrency: a server that finishes both within a second runs
    eight cases at once; one that needs eight seconds, or breaks off one stream for the other, runs
    one at a time.
    """
    trial = Trial((), model)
    found = Traits(await _at_once(visit, trial, now))
    chat = await visit.fetch(
        Request(method="POST", path="/chat/completions", body=trial.chat_body(PROBE))
    )
    responses = await visit.fetch(
        Request(method="POST", path="/responses", body=trial.response_body(PROBE))
    )
    streaming_by_default = frozenset(
        one.request.path for one in (chat, responses) if is_stream(one)
    )
    unknown_path_error = await visit.fetch(Request(method="POST", path=UNKNOWN_PATH, body={}))
    return replace(
        found,
        cap=_cap(chat),
        streaming_by_default=streaming_by_default,
        unknown_path_error=hidden_error(unknown_path_error),
    )


def is_stream(exchange: Exchange) -> bool:
    """Whether a successful response is an event stream where JSON is expected."""
    is_plain = is_completion(exchange.json) or is_response(exchange.json)
    return (
        exchange.is_ok
        and not is_plain
        and any(isinstance(event, dict) for event in exchange.events)
    )


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


def _cap(chat: Exchange) -> str:
    """Return the newer name if the server requires it, as OpenAI's does for reasoning models."""
    wants_other = chat.status == 400 and "max_completion_tokens" in message_of(chat)
    return "max_completion_tokens" if wants_other else "max_tokens"
