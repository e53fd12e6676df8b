"""The names of chains: what the requests of one session have in common.

A backend that has served a chain has its prompt in a prefix cache, so the router prefers it.
"""

from collections.abc import Sequence

from antiphon.protocol.requests import CreateResponse

CONTINUATION = "continuation\0"
"""Precedes a `continuation_id`, which is the client's own text, so that it equals no other name of
a chain.
"""


def chain_of(tenant: str, name: str) -> str:
    """Return the chain of a response or conversation by its id, or of a `prompt_cache_key`."""
    return f"{tenant}\0{name}"


def chains_of(request: CreateResponse, tenant: str) -> list[str]:
    """Return the chains to which a request belongs, the most specific first."""
    named = (request.previous_response_id, request.conversation_id, request.prompt_cache_key)
    return [chain_of(tenant, name) for name in named if isinstance(name, str) and name]


def with_continuation(chains: Sequence[str], request: CreateResponse, tenant: str) -> Sequence[str]:
    """Return the chains by which a backend is preferred: those of the request, and its
    `continuation_id`.

    Requests that continue each other have no history in common, so their prompts are never
    compared.
    """
    options = request.background_options
    if options is None or not options.continuation_id:
        return chains
    return [*chains, chain_of(tenant, CONTINUATION + options.continuation_id)]
