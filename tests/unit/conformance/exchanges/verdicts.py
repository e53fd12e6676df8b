"""Verdicts that were false once: for each what a real server answered, and how it is judged now.

Each stands beside a neighbour that looks alike and must be judged otherwise, so that neither rule swallows the other.
"""

from dataclasses import dataclass

from antiphon.conformance.areas.chat import tools as chat_tools
from antiphon.conformance.areas.responses import conversations, hosted, objects, store, tools
from antiphon.conformance.areas.responses.mcp import approval
from antiphon.conformance.areas.transport import http, sse
from antiphon.conformance.case import Case
from antiphon.conformance.requirement import CaseOutcome
from antiphon.conformance.trial import ORDINARY, Manners
from tests.unit.conformance.exchanges import Answer, Script, error, says, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.conformance.exchanges.completions import COMPLETION
from tests.unit.conformance.exchanges.responses.conversations import LIFE, instead
from tests.unit.testing.events.streams import STREAMS

GOOD = says(RESPONSE)

NO_CALL = says(COMPLETION)


@dataclass(frozen=True)
class Verdicts:
    """A case, the requirement that was misjudged, and two scripts, each with the outcome that is right."""

    case: Case
    name: str
    once: tuple[Script, CaseOutcome]
    neighbour: tuple[Script, CaseOutcome]
    manners: Manners = ORDINARY


CODE = next(case for case in hosted.RUNNING if "responses:hosted:code-told" in case.own)

MERGED = LIFE[2].patched("metadata", to={"a": "1", "b": "2"}) if isinstance(LIFE[2], Answer) else GOOD

LOST = "Unexpected endpoint or method. (POST )"


def lost(path: str) -> Answer:
    return says({"error": f"Unexpected endpoint or method. (POST {path})"})


VERDICTS: dict[str, Verdicts] = {
    "a gateway that adds a parameter of its own (SGLang) was excused of everything": Verdicts(
        objects.a_response_is_made,
        "responses:objects:made",
        ([error("Unknown parameter: 'priority'.", 400, "unknown_parameter", "priority")], "failed"),
        ([Answer(404)], "not offered"),
    ),
    "a tool refused while the gateway's own parameter was the reason": Verdicts(
        CODE,
        "responses:hosted:code-told",
        ([error("Unknown parameter: 'top_k'.", 400, "unknown_parameter", "top_k"), GOOD], "failed"),
        ([error("Unknown parameter: 'tools'.", 400, "unknown_parameter", "tools"), GOOD], "not offered"),
    ),
    "words that nobody foresaw (agentic-api: rebuild with a feature)": Verdicts(
        CODE,
        "responses:hosted:code-told",
        ([error("code_interpreter is disabled; rebuild with the feature"), GOOD], "not offered"),
        ([error("code_interpreter is not supported", 500), GOOD], "failed"),
    ),
    "words that nobody foresaw (agentic-api: an approval that must be never)": Verdicts(
        approval.a_call_is_approved,
        "responses:mcp:approval-default",
        ([error("MCP require_approval must be set to 'never'"), GOOD], "not offered"),
        ([error("MCP require_approval must be set to 'never'"), error("no")], "failed"),
    ),
    "words that nobody foresaw (serde)": Verdicts(
        tools.one_of_two_custom_tools_is_called,
        "responses:tools:custom-chosen",
        ([error("unknown variant `custom`, expected `function`", 422), GOOD], "not offered"),
        ([says(RESPONSE)], "failed"),
    ),
    "a model that the gateway did not find was a missing path (SGLang)": Verdicts(
        objects.a_response_is_made,
        "responses:objects:made",
        ([says({"error": {"message": "No worker for 'demo'", "type": "model_not_found"}}, 404)], "failed"),
        ([says({"detail": "Not Found"}, 404)], "not offered"),
    ),
    "a stream by default failed nearly everything (transformers)": Verdicts(
        objects.a_response_is_no_stream_unless_asked,
        "responses:objects:plain-by-default",
        ([streams(STREAMS["answer"])], "failed"),
        ([GOOD], "passed"),
        Manners(plainly=frozenset({"/responses"})),
    ),
    "a missing API behind a 200 failed its requirements (LM Studio)": Verdicts(
        conversations.a_conversation_lives,
        "responses:conversations:created",
        ([lost("/conversations")], "not offered"),
        ([says({"error": "metadata is too long"})], "failed"),
        Manners(lost=LOST),
    ),
    "a change of metadata that merges failed, without a source": Verdicts(
        conversations.a_conversation_lives,
        "responses:conversations:updated",
        (instead(LIFE, 2, MERGED), "passed"),
        (instead(LIFE, 2, LIFE[0]), "failed"),
    ),
    "a server that was too busy failed (LiteLLM, which rests a backend after an error)": Verdicts(
        store.a_response_is_retrieved,
        "responses:store:retrieved",
        ([error("No deployments available, try again in 5 seconds.", 429)], "skipped"),
        ([error("Boom.", 500)], "failed"),
    ),
    "a lookup that wants a token of its own failed (agentic-api)": Verdicts(
        store.a_response_is_retrieved,
        "responses:store:retrieved",
        ([GOOD, error("missing bearer token", 401)], "skipped"),
        ([GOOD, GOOD.patched("id", to="resp_other")], "failed"),
    ),
    "an API that is served, but of no use, was what the transport was judged by (agentic-api)": Verdicts(
        http.a_query_is_sent_along,
        "transport:http:query",
        ([Answer(404), Answer(404)], "skipped"),
        ([Answer(404), says({"choices": [{"message": {}}]}), error("no query")], "failed"),
    ),
    "a call despite `tool_choice: none` failed the offer that is unused (transformers)": Verdicts(
        chat_tools.no_chat_call_is_made,
        "chat:tools:empty-list",
        ([NO_CALL.patched("choices", 0, "message", "tool_calls", to=[{}])], "skipped"),
        ([NO_CALL.patched("choices", 0, "finish_reason", to="tool_calls")], "failed"),
    ),
    "an error instead of a stream was framing that was right": Verdicts(
        sse.a_stream_is_framed,
        "transport:sse:uncompressed",
        ([says(None)], "skipped"),
        ([streams(STREAMS["answer"], content_encoding="gzip")], "failed"),
    ),
}
"""By what was wrong about it."""
