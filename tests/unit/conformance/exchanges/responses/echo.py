"""Echoed parameters."""

from antiphon_verify.areas.responses import echo
from antiphon_verify.samples import WEATHER
from tests.unit.conformance.exchanges import Answer, Shown, changed, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

TOLD = says(RESPONSE | {key: value for _, given in echo.ECHOED.values() for key, value in given.items()})

FORGOTTEN = says(RESPONSE | {"store": True, "parallel_tool_calls": True})

TOOLS = says(RESPONSE | {"tools": [WEATHER]})

FORMAT = says(RESPONSE | {"text": {"format": echo.FORMAT}})

TIER = says(RESPONSE | {"service_tier": "default"})

EFFORT = says(RESPONSE | {"reasoning": {"effort": "low", "summary": None}})


def opening(**fields: object) -> Answer:
    first, *rest = STREAMS["answer"]
    for name, value in fields.items():
        first = changed(first, "response", name, to=value)
    return streams([first, *rest])


EXCHANGES: dict[str, Shown] = {
    **{name: one for case in echo.SIMPLE for name, one in spoiled(case, [TOLD], [FORGOTTEN]).items()},
    **shown(
        echo.tools_are_told_back,
        [TOOLS],
        {
            "responses:echo:tools": [TOOLS.without("tools", 0, "description")],
            "responses:echo:tools-strict": [TOOLS.without("tools", 0, "strict")],
        },
    ),
    **shown(
        echo.a_format_is_told_back,
        [FORMAT],
        {"responses:echo:text-format": [FORMAT.patched("text", "format", to={"type": "text"})]},
    ),
    **shown(echo.an_effort_is_told_back, [EFFORT], {"responses:echo:reasoning-effort": [FORGOTTEN]}),
    **shown(
        echo.the_tier_that_was_got_is_told,
        [TIER],
        {"responses:echo:service-tier": [TIER.patched("service_tier", to="auto")]},
    ),
    **shown(
        echo.parameters_are_told_at_once,
        [opening(temperature=0.5, metadata={"a": "1"}, instructions="Answer in one word.")],
        {"responses:echo:in-stream": [opening(temperature=1.0)]},
    ),
}
