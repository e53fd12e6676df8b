"""Settings that items change for what follows them in a chain (specification section 5.2, `configuration_update`)."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from antiphon.protocol.items.messages import ConfigurationUpdate, InputItem
from antiphon.protocol.requests import CreateResponse, ReasoningConfig, TextConfig


def configured(request: CreateResponse, items: Sequence[InputItem]) -> CreateResponse:
    """Return the request with what its conversation's newest updates say, where it says nothing itself."""
    updates = [item for item in items if type(item) is ConfigurationUpdate]
    if not updates:
        return request
    changes: dict[str, Any] = {}
    efforts = [update.reasoning.effort for update in updates if update.reasoning and update.reasoning.effort]
    formats = [update.text.format for update in updates if update.text and update.text.format]
    reasoning = request.reasoning or ReasoningConfig()
    if efforts and reasoning.effort is None:
        changes["reasoning"] = replace(reasoning, effort=efforts[-1])
    text = request.text or TextConfig()
    if formats and text.format is None:
        changes["text"] = replace(text, format=formats[-1])
    return replace(request, **changes)
