"""`diagnostics` of the Messages API: why the prompt cache could not reuse the prompt of an earlier
message.

Prompts are compared as the backend received them. Only the process that answered an earlier message
knows it: nothing of a message is stored.
"""

from typing import Any

from msgspec import Struct

from antiphon.objects.pages import JsonObject
from antiphon.runs.prompt_memory import PromptMemory
from antiphon.runs.run import Run
from antiphon.sharing.recent import Recent
from antiphon.translation.from_messages.view import MessagesView
from antiphon.translation.to_chat_completions.reuse import Fingerprint, compare
from antiphon.translation.to_messages.message import message_id, response_id

MOST_BYTES = 2 * 1024 * 1024
"""Bytes of the models of earlier messages, of all tenants."""

NOT_FOUND = {"type": "previous_message_not_found"}
UNAVAILABLE = {"type": "unavailable"}


class Noted(Struct, frozen=True):
    """An earlier message."""

    model: str
    has_system: bool
    """Whether its prompt began with `system`."""


class MessageDiagnostics:
    """Compares the prompts of messages.

    `prompts` has those that backends received, None if they are not compared.
    """

    def __init__(self, prompts: PromptMemory | None) -> None:
        self._prompts = prompts
        self._known: Recent[str, Noted] = Recent(MOST_BYTES, lambda noted: len(noted.model))
        """The messages of clients that compare, by id."""

    def note(self, view: MessagesView, run: Run, model: str) -> None:
        """Note a message, with which a later one can be compared."""
        noted = Noted(model, view.has_system)
        self._known.put(run.context.tenant, message_id(run.response.id), noted)

    def found(self, view: MessagesView, run: Run, model: str, tokens: int) -> JsonObject | None:
        """Return `diagnostics` of an answer, None if its prompt continues the previous one, or the
        request names none. `tokens` is the estimated size of the prompt.
        """
        previous = view.previous_message
        if previous is None:
            return None
        reason = self._reason(view, run, previous, model, tokens)
        return None if reason is None else {"cache_miss_reason": reason or None}

    def _reason(
        self, view: MessagesView, run: Run, previous: str, model: str, tokens: int
    ) -> dict[str, Any] | None:
        """Return the reason, None without one, and an empty one while the prompt is not known."""
        tenant = run.context.tenant
        before = self._known.find(tenant, previous)
        if before is None:
            return NOT_FOUND
        if before.model != model:
            return {"type": "model_changed", "cache_missed_input_tokens": tokens}
        target = run.target
        if self._prompts is None or not target.dialect.prefix_cache:
            return UNAVAILABLE
        prompt = run.prompt
        if prompt is None:
            return UNAVAILABLE if run.is_over else {}
        known = self._prompts.of_response(tenant, target, response_id(previous))
        if known is None:
            return UNAVAILABLE
        has_system = view.has_system or before.has_system
        return _difference(known, prompt, tokens, has_system=has_system)


def _difference(
    before: Fingerprint, prompt: Fingerprint, tokens: int, *, has_system: bool
) -> dict[str, Any] | None:
    """Return what differs first: in a prompt, the tools precede the messages."""
    compared = compare(before, prompt)
    same = compared.same
    if compared.is_continued:
        return None
    if same < max(before.tools, prompt.tools):
        kind = "tools_changed"
    elif same == prompt.tools and has_system:
        kind = "system_changed"
    else:
        kind = "messages_changed"
    return {"type": kind, "cache_missed_input_tokens": tokens - compared.reusable(tokens)}
