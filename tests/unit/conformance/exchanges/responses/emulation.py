"""What a server supplies that a model lacks."""

import json
from typing import Any

from antiphon_verify.areas.responses import emulation
from tests.unit.conformance.exchanges import Answer, error, says, spoiled
from tests.unit.conformance.exchanges.bodies import CALL, MESSAGE, RESPONSE


def listing(model: str) -> Answer:
    return says({"object": "list", "data": [{"id": model, "object": "model", "created": 1, "owned_by": "antiphon"}]})


def gave(item: dict[str, Any]) -> Answer:
    return says(RESPONSE | {"output": [item]})


def text(written: str) -> Answer:
    return gave(MESSAGE | {"content": [{**MESSAGE["content"][0], "text": written}]})


WRITTEN = text('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>')
BROKEN = gave(CALL | {"arguments": '{"city": "Paris"'})
TEXTS, TOOLLESS, BREAKING, GRAMMAR = map(
    listing, ("demo-text-calls", "demo-no-tools", "demo-broken-json", "demo-small-grammar")
)

EXCHANGES = {
    **spoiled(emulation.a_call_in_the_text_is_found, [TEXTS, gave(CALL)], [TEXTS, WRITTEN]),
    **spoiled(
        emulation.a_model_without_tools_calls_one,
        [TOOLLESS, gave(CALL)],
        [TOOLLESS, error("demo-no-tools does not support tools", 502)],
    ),
    **spoiled(emulation.broken_arguments_are_made_whole, [BREAKING, gave(CALL)], [BREAKING, BROKEN]),
    **spoiled(
        emulation.a_schema_is_held_that_the_server_rejects,
        [GRAMMAR, text(json.dumps({"code": "dvor"}))],
        [GRAMMAR, error("failed to parse grammar", 400)],
    ),
}
