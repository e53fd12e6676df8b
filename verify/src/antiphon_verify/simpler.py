"""Whether a rejection means that the server lacks a feature: by status, code and param, and by a
simpler request.

The message does not decide: each server words "not supported" differently. What decides is that the
same request is accepted without the parts that a server can lack, and that the error names nothing
that the request does not have.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from antiphon_verify.exchange import Exchange, Request
from antiphon_verify.refusal import (
    REFUSED,
    hidden_error,
    lacking,
    optional_keys,
    param_root,
    path_absence,
)
from antiphon_verify.requirement import Doubt, Verdict

PLAIN = {
    *(
        "type",
        "role",
        "content",
        "text",
        "message",
        "input_text",
        "output_text",
        "user",
        "assistant",
        "system",
    ),
    *("id", "status", "annotations", "logprobs", "refusal"),
}
"""Keys, types and roles of a plain text conversation, which every server of the API supports."""

HELLO = "Say hello."

PLAINEST: dict[str, Any] = {"input": HELLO, "messages": [{"role": "user", "content": HELLO}]}


def doubted(exchange: Exchange, before: Sequence[Exchange]) -> Doubt | None:
    """Return what decides whether a rejection means a missing feature; None if nothing needs to be
    decided.

    `before` are the case's earlier exchanges: the server does not lack what it accepted or sent in
    them.
    """
    is_path = path_absence(exchange) is not None
    plainer = simpler(exchange.request)
    if plainer is None or not (
        exchange.status in REFUSED or (is_path and _is_creation(exchange.request))
    ):
        return None
    return Doubt(
        plainer,
        lambda simple: _settled(exchange, simple, features(exchange.request) - _known(before)),
    )


def simpler(request: Request) -> Request | None:
    """Return the request without the parts that a server can lack, None if it has no such parts."""
    path, _, query = request.path.partition("?")
    if request.method == "GET" and query:
        return Request(method="GET", path=path, headers=request.headers)
    if request.method != "POST" or not features(request):
        return None
    dropped = optional_keys(request)
    body = {
        name: PLAINEST.get(name, value)
        for name, value in request.body.items()
        if name not in dropped
    }
    return Request(method="POST", path=path, body=body)


def features(request: Request) -> set[str]:
    """Return the parts that a server can lack: parameters, and keys, types and roles of the input
    beyond plain text.
    """
    body = request.body if isinstance(request.body, dict) else {}
    inputs = (body.get(name) for name in PLAINEST)
    return optional_keys(request) | {word for value in inputs for word in _words(value)} - PLAIN


def _known(before: Iterable[Exchange]) -> set[str]:
    """Return the features that the server accepted, and the types of the items it sent with those
    of their outputs.
    """
    accepted = {word for one in before if one.is_ok for word in features(one.request)}
    sent = {word for one in before for value in (one.json, one.events) for word in _words(value)}
    if "tool_calls" in sent:
        sent |= {"tool", "tool_call_id", "function", "name", "arguments"}
    calls = {word.removesuffix("_call") for word in sent if word.endswith("_call")}
    outputs = {f"{word}{end}" for word in calls for end in ("_call_output", "_output")}
    return accepted | sent | outputs | ({"call_id", "output"} if outputs else set())


def _words(value: Any) -> Iterator[str]:
    """Yield the keys of all objects in a JSON value, and the values of their `type` and `role`."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            yield from one
            yield from (word for key in ("type", "role") if isinstance(word := one.get(key), str))
            rest += one.values()
        elif isinstance(one, list):
            rest += one


def _is_creation(request: Request) -> bool:
    return request.method == "POST" and request.path.partition("?")[0] in (
        "/responses",
        "/chat/completions",
    )


def _settled(exchange: Exchange, simple: Exchange, new: set[str]) -> Verdict:
    """Judge a rejection by the response to the simpler request; `new` are the features not known to
    be offered.
    """
    if not simple.is_ok or hidden_error(simple):
        lack = path_absence(exchange)
        is_same = lack is not None and path_absence(simple) is not None
        return Verdict("not offered", lack or "") if is_same else Verdict("failed", exchange.came)
    if exchange.status not in REFUSED:
        return Verdict("failed", f"{exchange.came}; a simpler request is accepted")
    if exchange.request.method == "GET":
        return Verdict("not offered", lacking(exchange))
    root = param_root(exchange)
    sent = optional_keys(exchange.request)
    if root is not None and root not in exchange.request.body:
        return Verdict("failed", f"{exchange.came}; the request has no '{root}'")
    is_new = (root in new) if root in sent else bool(new - sent if root is not None else new)
    return Verdict("not offered", lacking(exchange)) if is_new else Verdict("failed", exchange.came)
