"""WebSocket mode."""

from dataclasses import replace
from typing import Any

from antiphon_verify.areas.responses import websocket
from tests.unit.conformance.exchanges import Answer, Shown, changed, hears, says, shown, spoiled
from tests.unit.testing.events.streams import STREAMS

EMPTY = Answer(400, b"{}")

EVENTS = STREAMS["answer"]


def response(name: str = "resp_1", *, reused: bool = True, **fields: Any) -> Answer:
    """A whole answer on a socket."""
    end = EVENTS[-1]
    for key, value in {"id": name, **fields}.items():
        end = changed(end, "response", key, to=value)
    return replace(hears(*EVENTS[:-1], end), is_reused=reused)


def fails(code: str | None = None, param: str | None = None, **fields: Any) -> Answer:
    """An error on a socket."""
    error = {"type": "invalid_request_error", "code": code, "message": "It is wrong.", "param": param}
    return replace(hears({"type": "error", "status": 400, "error": error, **fields}), is_reused=True)


FIRST, SECOND = response(), response("resp_2")

LOST = fails("previous_response_not_found", "previous_response_id")

WARM = response(output=[])

CLOSED = replace(hears(), fault="the WebSocket came to its end")

FRAMED = Answer(101, b"event: response.created\ndata: {}\n")


def in_lane(*, lane: str | None) -> Answer:
    return hears(*(one if lane is None else one | {"stream_id": lane} for one in EVENTS))


CHAIN = [FIRST, SECOND, LOST, FIRST]

BAD = [FIRST, fails(), fails(), fails("invalid_type", "input")]

COMPACTED = says({"object": "response.compaction", "output": [{"type": "compaction", "encrypted_content": "gAAA"}]})


def steered(outcome: str, **fields: Any) -> Answer:
    """What became of a steer."""
    steer = fields.pop("steer", {"previous_response_id": "resp_1"})
    return replace(hears({"type": f"response.steer.{outcome}", "steer": steer, **fields}), is_reused=True)


NO_SUCH = {"code": "response_not_found", "message": "The response is not there.", "type": "invalid_request_error"}

NOT_FOUND = steered("failed", error=NO_SUCH, steer={"previous_response_id": "resp_0", "input": "In French, please."})

ACCEPTED = steered("accepted", steer={"id": "steer_1", "previous_response_id": "resp_1"})

BEGUN = hears(EVENTS[0])

CUT = STREAMS["cut"][-1]

BOTH = hears(CUT, changed(EVENTS[-1], "response", "id", to="resp_2"))

EXCHANGES: dict[str, Shown] = {
    **spoiled(websocket.an_upgrade_is_refused_well, [EMPTY, Answer(426)], [EMPTY, Answer(404)]),
    **shown(
        websocket.invalid_upgrades_are_answered,
        [FIRST, Answer(426, headers={"sec-websocket-version": "13"}), Answer(400)],
        {
            "responses:websocket:other-version": [FIRST, Answer(426), Answer(400)],
            "responses:websocket:no-key": [
                FIRST,
                Answer(426, headers={"sec-websocket-version": "13"}),
                Answer(0, fault="the connection was closed"),
            ],
        },
    ),
    **shown(
        websocket.responses_are_made_on_a_socket,
        [FIRST, SECOND],
        {
            "responses:websocket:created": [hears(*STREAMS["failure"]), SECOND],
            "responses:websocket:messages": [FRAMED, SECOND],
            "responses:websocket:twice": [FIRST, CLOSED],
            "responses:websocket:ids-differ": [FIRST, FIRST],
            "responses:websocket:no-lane": [in_lane(lane="lane-0"), SECOND],
        },
    ),
    **spoiled(websocket.a_prompt_cache_is_filled, [WARM], [FIRST]),
    **shown(
        websocket.a_socket_is_warmed_up,
        [WARM, SECOND],
        {"responses:websocket:warm-up": [FIRST, SECOND], "responses:websocket:warm-up-used": [WARM, LOST]},
    ),
    **shown(
        websocket.an_unstored_chain_lives_on_its_socket,
        CHAIN,
        {
            "responses:websocket:continued": [FIRST, LOST, *CHAIN[2:]],
            "responses:websocket:lost": [FIRST, SECOND, SECOND, FIRST],
            "responses:websocket:error-shape": [FIRST, SECOND, hears({"type": "error", "code": "x"}), FIRST],
            "responses:websocket:survives": [FIRST, SECOND, LOST, CLOSED],
        },
    ),
    **shown(
        websocket.bad_messages_are_answered,
        BAD,
        {
            "responses:websocket:bad-json": [FIRST, CLOSED, *BAD[2:]],
            "responses:websocket:unknown-type": [FIRST, fails(), SECOND, BAD[3]],
            "responses:websocket:bad-request": [FIRST, fails(), fails(), SECOND],
            "responses:websocket:bad-request-named": [FIRST, fails(), fails(), fails()],
        },
    ),
    **shown(
        websocket.lanes_are_told_apart,
        [in_lane(lane="lane-1"), fails("invalid_stream_id", "stream_id")],
        {
            "responses:websocket:lane": [in_lane(lane=None), fails("invalid_stream_id")],
            "responses:websocket:bad-lane": [in_lane(lane="lane-1"), in_lane(lane="no lane")],
        },
    ),
    **spoiled(websocket.a_failed_continuation_ends_a_chain, [FIRST, fails(), LOST], [FIRST, fails(), SECOND]),
    **spoiled(websocket.a_compacted_context_begins_a_chain, [COMPACTED, FIRST], [COMPACTED, fails()]),
    **shown(
        websocket.a_response_that_is_not_there_is_steered,
        [FIRST, NOT_FOUND],
        {
            "responses:websocket:steer-unknown": [FIRST, ACCEPTED],
            "responses:websocket:steer-failed": [FIRST, steered("failed", error=NO_SUCH)],
        },
    ),
    **shown(
        websocket.a_response_is_steered,
        [BEGUN, ACCEPTED, BOTH],
        {
            "responses:websocket:steer-answered": [BEGUN, FIRST],
            "responses:websocket:steer-accepted": [BEGUN, steered("accepted"), BOTH],
            "responses:websocket:steered": [BEGUN, ACCEPTED, replace(FIRST, fault="the time was up")],
        },
    ),
    **spoiled(websocket.background_has_no_place_on_a_socket, [fails("unsupported_parameter")], [FIRST]),
}
