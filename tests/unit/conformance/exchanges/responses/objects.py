"""The response object."""

from antiphon_verify.areas.responses import objects
from tests.unit.conformance.exchanges import Shown, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

GOOD = says(RESPONSE)

WRONG = {
    "id": "",
    "id-prefix": "chatcmpl-1",
    "object": "chat.completion",
    "created-at": "2026-11-20",
    "created-at-integer": 1763000000.5,
    "completed-at": None,
    "status": "done",
    "model": None,
    "output": "Hello.",
    "error": {},
    "incomplete-details": {},
    "parallel-tool-calls": None,
    "tool-choice": None,
    "tools": None,
    "usage": None,
    "metadata": None,
    "temperature": None,
    "top-p": "1",
    "presence-penalty": None,
    "frequency-penalty": None,
    "top-logprobs": None,
    "background": None,
    "store": None,
    "max-output-tokens": "inf",
    "max-tool-calls": [],
    "previous-response-id": "",
    "prompt-cache-key": 1,
    "safety-identifier": 1,
    "reasoning": "low",
    "service-tier": "free",
    "text": {},
    "truncation": None,
    "user": 1,
    "instructions": "",
}

KEYS = {"id-prefix": "id", "created-at-integer": "created_at"}

EXCHANGES: dict[str, Shown] = {
    **spoiled(objects.a_response_is_made, [GOOD], [GOOD.patched("output", to=[])]),
    **spoiled(objects.a_response_is_no_stream_unless_asked, [GOOD], [streams(STREAMS["answer"])]),
    **shown(
        objects.a_plain_response_has_its_keys,
        [GOOD],
        {
            f"responses:objects:{name}": [GOOD.patched(KEYS.get(name, name.replace("-", "_")), to=value)]
            for name, value in WRONG.items()
        }
        | {
            "responses:objects:ends": [GOOD.without("error")],
            "responses:objects:item-ids": [GOOD.without("output", 0, "id")],
            "responses:objects:item-id-prefix": [GOOD.patched("output", 0, "id", to="1")],
            "responses:objects:item-statuses": [GOOD.without("output", 0, "status")],
            "responses:objects:item-types": [GOOD.patched("output", 0, "type", to="vendor_thing")],
            "responses:objects:no-foreign-keys": [GOOD.patched("x_vendor", to=1)],
        },
    ),
}
