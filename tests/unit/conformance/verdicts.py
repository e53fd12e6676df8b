"""Verdicts that were false once: for each what a real server answered, and how it is judged now.

Each stands beside a neighbour that looks alike and must be judged otherwise, so that neither rule
swallows the other.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from antiphon_verify.areas.chat import errors as chat_errors
from antiphon_verify.areas.chat import tools as chat_tools
from antiphon_verify.areas.responses import (
    background,
    conversations,
    echo,
    errors,
    file_search,
    hosted,
    logprobs,
    models,
    objects,
    prompts,
    store,
    stream,
    tools,
    vector_stores,
)
from antiphon_verify.areas.responses.mcp import approval
from antiphon_verify.areas.transport import http, sse
from antiphon_verify.case import Case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.exchange import Request
from antiphon_verify.replies import Replies, Reply, error, replaced, states, streams
from antiphon_verify.replies.bodies import MESSAGE, RESPONSE
from antiphon_verify.replies.completions import COMPLETION
from antiphon_verify.replies.responses import background as queued
from antiphon_verify.replies.responses import file_search as searched
from antiphon_verify.replies.responses import logprobs as logged
from antiphon_verify.replies.responses import prompts as prompted
from antiphon_verify.replies.responses import vector_stores as stocked
from antiphon_verify.replies.responses.conversations import CREATED, LIFE
from antiphon_verify.requirement import CaseOutcome
from antiphon_verify.trial import ORDINARY, Traits
from tests.unit.testing.events.mutations import ADDED, DONE, Mutation, put

GOOD = states(RESPONSE)

NO_CALL = states(COMPLETION)


@dataclass(frozen=True)
class Verdicts:
    """A case, the requirement that was misjudged, and two scripts, each with the outcome that is
    right.
    """

    case: Case
    name: str
    once: tuple[Replies, CaseOutcome]
    neighbour: tuple[Replies, CaseOutcome]
    traits: Traits = ORDINARY


CODE = next(case for case in hosted.RUNNING if "responses:hosted:code-told" in case.own)

MERGED = (
    LIFE[2].patched("metadata", to={"a": "1", "b": "2"}) if isinstance(LIFE[2], Reply) else GOOD
)

LOST = "Unexpected endpoint or method. (POST )"


def lost(path: str) -> Reply:
    return states({"error": f"Unexpected endpoint or method. (POST {path})"})


def bare(message: str, status: int = 400) -> Reply:
    """An error that has only a message, as OGX sends it."""
    return states({"error": {"message": message}}, status)


REFUSED_MODEL = next(case for case in errors.CASES if case.name == "refused_missing_model")

CHAT_REFUSED = chat_errors.CASES[0]

CONVERSATION = CREATED.patched("id", to=f"conv_{'0123456789abcdef' * 3}")


def by_shape(status: int) -> Callable[[Request], Reply]:
    """A lookup that refuses ids unless they have 48 hexadecimal digits, and then has this
    status.
    """

    def answer(request: Request) -> Reply:
        is_right = re.fullmatch("conv_[0-9a-f]{48}", request.path.rpartition("/")[2])
        return (
            error("Conversation not found.", status)
            if is_right
            else error("Invalid conversation id.")
        )

    return answer


def searching(argument: str) -> Callable[[Request], Reply]:
    """A stream with a search whose queries are in this argument of the call that the prompt
    demands.
    """

    def answer(request: Request) -> Reply:
        call = json.loads(request.body["input"].partition("call file_search ")[2])
        provided = call.get(argument, [])
        item = searched.SEARCH | {"queries": provided if isinstance(provided, list) else [provided]}
        return searched.streamed(item, searched.citing())[-1]

    return answer


VERDICTS: dict[str, Verdicts] = {
    "an HTTP error that a gateway owes to another server was none (OGX: 502)": Verdicts(
        hosted.an_mcp_server_is_unreachable,
        "responses:hosted:mcp-unreachable",
        ([bare("Failed to connect to MCP server at http://127.0.0.1:9/mcp", 502)], "passed"),
        ([error("Internal Server Error", 500)], "failed"),
    ),
    "an error without a type was no error (OGX)": Verdicts(
        REFUSED_MODEL,
        "responses:errors:missing-model",
        ([bare("model: Field required")], "passed"),
        ([GOOD], "failed"),
    ),
    "an error with a status of its own was no rejection (FastAPI: 422)": Verdicts(
        REFUSED_MODEL,
        "responses:errors:missing-model",
        (
            [states({"detail": [{"loc": ["body", "model"], "msg": "Field required"}]}, 422)],
            "passed",
        ),
        ([error("KeyError: 'model'", 500)], "failed"),
    ),
    "the form of an error failed in every request, instead of once": Verdicts(
        REFUSED_MODEL,
        "responses:errors:envelope",
        ([states({"detail": "Field required"}, 400)], "failed"),
        ([bare("model: Field required")], "passed"),
    ),
    "an error without a type, in chat, where the form alone is judged": Verdicts(
        CHAT_REFUSED,
        "chat:errors:envelope",
        ([bare("It is wrong.")], "failed"),
        ([error("It is wrong.")], "passed"),
    ),
    "an unknown model, reported without a type (OGX)": Verdicts(
        models.an_unknown_model_is_not_found,
        "responses:models:unknown",
        ([bare("Model 'no-such-model' not found", 404)], "passed"),
        ([bare("Model 'no-such-model' not found", 400)], "failed"),
    ),
    "the name of an argument of the server's own function decided (OGX: query)": Verdicts(
        file_search.files_are_searched,
        "responses:file-search:item",
        ([*searched.STOCKED, searching("query")], "passed"),
        ([*searched.STOCKED, searching("question")], "failed"),
    ),
    "the name of an argument of the server's own function decided (Antiphon: queries)": Verdicts(
        file_search.files_are_searched,
        "responses:file-search:item",
        ([*searched.STOCKED, searching("queries")], "passed"),
        ([*searched.STOCKED, searching("question")], "failed"),
    ),
    "no alternatives were more than at most two (agentic-api)": Verdicts(
        logprobs.log_probabilities_are_included,
        "responses:logprobs:top",
        ([logged.GOOD.patched(*logged.PLACE, 0, "top_logprobs", to=[]), logged.STREAM], "passed"),
        (
            [logged.GOOD.patched(*logged.PLACE, 0, "top_logprobs", to=[logged.ALTERNATIVE] * 3)],
            "failed",
        ),
    ),
    "an invented id of another shape was an unknown conversation (OGX: 48 digits)": Verdicts(
        conversations.an_unknown_conversation_is_not_found,
        "responses:conversations:unknown",
        ([CONVERSATION, by_shape(404)], "passed"),
        ([CONVERSATION, by_shape(400)], "failed"),
    ),
    "a status that says nothing of the length failed it (SMG: 503 without a key)": Verdicts(
        http.a_connection_serves_twice,
        "transport:http:length",
        ([error("No models.", 503)] * 2, "passed"),
        ([replace(error("No models.", 503), headers={"content-length": "7"})] * 2, "failed"),
    ),
    "HEAD failed because GET did (SMG: 503 without a key)": Verdicts(
        http.a_head_is_requested,
        "transport:http:head",
        ([error("No models.", 503)] * 2, "skipped"),
        ([states({"object": "list", "data": []}), error("Boom.", 500)], "failed"),
    ),
    "a server with prompts of its own had none (OGX: another body)": Verdicts(
        prompts.a_prompt_lives,
        "responses:prompts:created",
        ([error("prompt: Field required")], "not offered"),
        ([prompted.CREATED.patched("version", to=0)], "failed"),
    ),
    "a gateway that adds a parameter of its own (SGLang) was excused of everything": Verdicts(
        objects.a_response_is_created,
        "responses:objects:made",
        ([error("Unknown parameter: 'priority'.", 400, "unknown_parameter", "priority")], "failed"),
        ([Reply(404)], "not offered"),
    ),
    "a tool refused while the gateway's own parameter was the reason": Verdicts(
        CODE,
        "responses:hosted:code-told",
        ([error("Unknown parameter: 'top_k'.", 400, "unknown_parameter", "top_k"), GOOD], "failed"),
        (
            [error("Unknown parameter: 'tools'.", 400, "unknown_parameter", "tools"), GOOD],
            "not offered",
        ),
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
        ([states(RESPONSE)], "failed"),
    ),
    "a model that the gateway did not find was a missing path (SGLang)": Verdicts(
        objects.a_response_is_created,
        "responses:objects:made",
        (
            [
                states(
                    {"error": {"message": "No worker for 'demo'", "type": "model_not_found"}}, 404
                )
            ],
            "failed",
        ),
        ([states({"detail": "Not Found"}, 404)], "not offered"),
    ),
    "a stream by default failed nearly everything (transformers)": Verdicts(
        objects.a_response_is_no_stream_by_default,
        "responses:objects:plain-by-default",
        ([streams(STREAMS["answer"])], "failed"),
        ([GOOD], "passed"),
        Traits(streaming_by_default=frozenset({"/responses"})),
    ),
    "a missing API behind a 200 failed its requirements (LM Studio)": Verdicts(
        conversations.a_conversation_lives,
        "responses:conversations:created",
        ([lost("/conversations")], "not offered"),
        ([states({"error": "metadata is too long"})], "failed"),
        Traits(unknown_path_error=LOST),
    ),
    "a change of metadata that merges failed, without a source": Verdicts(
        conversations.a_conversation_lives,
        "responses:conversations:updated",
        (replaced(LIFE, 2, MERGED), "passed"),
        (replaced(LIFE, 2, LIFE[0]), "failed"),
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
    "an API that is served, but of no use, was what the transport was judged by (agentic-api)": Verdicts(  # noqa: E501 - one text, or a row of a table
        http.a_query_is_sent_along,
        "transport:http:query",
        ([Reply(404), Reply(404)], "skipped"),
        ([Reply(404), states({"choices": [{"message": {}}]}), error("no query")], "failed"),
    ),
    "a call despite `tool_choice: none` failed the offer that is unused (transformers)": Verdicts(
        chat_tools.no_chat_call_is_returned,
        "chat:tools:empty-list",
        ([NO_CALL.patched("choices", 0, "message", "tool_calls", to=[{}])], "skipped"),
        ([NO_CALL.patched("choices", 0, "finish_reason", to="tool_calls")], "failed"),
    ),
    "an error instead of a stream was framing that was right": Verdicts(
        sse.a_stream_is_framed,
        "transport:sse:uncompressed",
        ([states(None)], "skipped"),
        ([streams(STREAMS["answer"], content_encoding="gzip")], "failed"),
    ),
    "an effort that the server says it does not send to its model (llama-cpp-python)": Verdicts(
        echo.an_effort_is_echoed,
        "responses:echo:reasoning-effort",
        (
            [replace(GOOD, headers=dict(GOOD.headers) | {"antiphon-adjusted": "reasoning.effort"})],
            "not offered",
        ),
        ([GOOD], "failed"),
    ),
    "a search without a query, as a model called it that can only babble (transformers)": Verdicts(
        file_search.files_are_searched,
        "responses:file-search:item",
        (
            searched.streamed(searched.SEARCH | {"status": "failed", "queries": []}, MESSAGE),
            "skipped",
        ),
        (searched.streamed(searched.SEARCH | {"status": "failed"}, MESSAGE), "failed"),
    ),
    (
        "a window was accepted only if the response shows it, which OpenAI's type "
        "of a response does not"
    ): Verdicts(
        background.work_can_wait,
        "responses:background:window",
        ([queued.QUEUED, queued.QUEUED], "passed"),
        ([error("Unknown field `background_options`."), queued.QUEUED], "not offered"),
    ),
    "a table that is rejected when it is uploaded was a long file that is not found": Verdicts(
        vector_stores.a_long_file_is_found_whole,
        "responses:vector-stores:whole",
        (
            [*stocked.FOUND, stocked.CREATED, error("Files of the type csv are not supported.")],
            "passed",
        ),
        ([*stocked.FOUND, stocked.CREATED, error("Boom.", 500)], "failed"),
    ),
    "a field that only this server gives an item had to last (SMG: `call_id` of an `mcp_call`)": Verdicts(  # noqa: E501 - one text, or a row of a table
        stream.PLAIN,
        "responses:stream:item-done-matches-added",
        (
            [streams(Mutation("mcp", put(ADDED, "item.call_id", "call_1", 2)).apply(STREAMS))],
            "passed",
        ),
        ([streams(Mutation("mcp", put(DONE, "item.name", "deal", 2)).apply(STREAMS))], "failed"),
    ),
    "a crash over a table was a rejection of it": Verdicts(
        vector_stores.a_long_file_is_found_whole,
        "responses:vector-stores:whole",
        ([*stocked.FOUND, stocked.CREATED, stocked.FILE, error("Boom.", 500)], "failed"),
        (
            [*stocked.FOUND, stocked.CREATED, stocked.FILE, error("Tables are not supported.")],
            "passed",
        ),
    ),
}
"""By what was wrong about it."""
