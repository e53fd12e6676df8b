"""Tools that the server runs."""

from typing import Any

from antiphon_verify.areas.responses import hosted
from tests.unit.conformance.exchanges import Answer, Shown, changed, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS


def is_image(event: dict[str, Any]) -> bool:
    return event["type"] == "response.output_item.done" and event["item"]["type"] == "image_generation_call"


EVENTS = [changed(one, "item", "result", to="iVBO") if is_image(one) else one for one in STREAMS["tools"]]

TEXT = STREAMS["answer"]


def offered(events: list[dict[str, Any]], tool: dict[str, Any]) -> Answer:
    """A stream whose last event tells the tool back."""
    return streams([*events[:-1], changed(events[-1], "response", "tools", to=[tool])])


def without(kind: str) -> list[dict[str, Any]]:
    return [one for one in EVENTS if one["type"] != kind]


def bare(kind: str) -> list[dict[str, Any]]:
    """The stream with items of this type without what makes them whole."""
    keys = ("action", "container_id", "result")
    return [
        one | {"item": {key: value for key, value in one["item"].items() if key not in keys}}
        if one["type"] == "response.output_item.done" and one["item"]["type"] == kind
        else one
        for one in EVENTS
    ]


def all_of(name: str) -> dict[str, Shown]:
    case = next(case for case in hosted.RUNNING if case.name == f"hosted_{name.replace('-', '_')}")
    one = hosted.HOSTED[name]
    bad = {
        f"responses:hosted:{name}-told": [streams(EVENTS)],
        f"responses:hosted:{name}-item": [offered(bare(one.item), one.tool)],
        f"responses:hosted:{name}-order": [offered(without(f"response.{one.item}.{one.steps[1]}"), one.tool)],
    }
    if name != "image":
        bad[f"responses:hosted:{name}-used"] = [offered(TEXT, one.tool)]
    return shown(case, [offered(EVENTS, one.tool)], bad)


REFUSED = error("Invalid 'tools[0].server_url'.")

TAKEN = says(RESPONSE)

FAILED = {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "nowhere", "tools": [], "error": "unreachable"}

TOLD = says(RESPONSE | {"tools": [hosted.mcp(hosted.NOWHERE)], "output": [FAILED]})

EXCHANGES: dict[str, Shown] = {
    **{name: one for tool in hosted.HOSTED for name, one in all_of(tool).items()},
    **shown(
        hosted.an_mcp_server_is_not_there,
        [TOLD],
        {
            "responses:hosted:mcp-told": [TOLD.patched("tools", to=[])],
            "responses:hosted:mcp-unreachable": [TOLD.patched("output", to=[])],
        },
    ),
    **{name: one for case in hosted.REFUSING for name, one in spoiled(case, [REFUSED], [TAKEN]).items()},
    **spoiled(hosted.a_hosted_tool_is_demanded, [REFUSED], [TAKEN]),
    **spoiled(hosted.a_file_search_is_told_back, [REFUSED], [TAKEN]),
}
