"""The newest prompt of each session, as fingerprints: a new prompt is compared with it.

A session is an entry of `plan.chains`: the previous response, a conversation, or a
`prompt_cache_key`. Each backend and each model has its own prefix cache, so the prompts of a
session are stored separately for each of them.
"""

from collections.abc import Iterable

from antiphon.sharing.recent import Recent
from antiphon.translation.to_chat_completions.reuse import Fingerprint
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.chains import chain_of

MOST_BYTES = 16 * 1024 * 1024
"""Maximum bytes of all fingerprints; about 10,000 sessions of 100 messages each."""

Key = tuple[str, str, str]
"""A backend's name, its name for the model, and a chain."""


class PromptMemory:
    """Fingerprints by session."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._known: Recent[Key, Fingerprint] = Recent(most_bytes, lambda prompt: prompt.weight)

    def find(self, tenant: str, target: ModelTarget, chains: Iterable[str]) -> Fingerprint | None:
        """Return the newest prompt of the first of these chains that is known."""
        found = (self._known.find(tenant, _key(target, chain)) for chain in chains)
        return next((prompt for prompt in found if prompt is not None), None)

    def of_response(self, tenant: str, target: ModelTarget, response_id: str) -> Fingerprint | None:
        """Return the prompt of a response, if it is known."""
        return self.find(tenant, target, [chain_of(tenant, response_id)])

    def put(
        self, tenant: str, target: ModelTarget, chains: Iterable[str], prompt: Fingerprint
    ) -> None:
        """Store the newest prompt of these chains."""
        for chain in chains:
            self._known.put(tenant, _key(target, chain), prompt)


def _key(target: ModelTarget, chain: str) -> Key:
    return target.state.name, target.model, chain
