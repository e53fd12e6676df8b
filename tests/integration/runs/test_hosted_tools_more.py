"""Tools that the server runs, where several things come together."""

import json
from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.protocol.validation.validate import decode_request
from antiphon.testing import assert_event_stream
from antiphon.tools.base import ToolListing
from tests.integration.runs.test_hosted_tools import ROLLS, calls, items, with_tools
from tests.support.parts import begin, called, plain, query, scripted_parts, stated, stream
from tests.support.replay import delta
from tests.support.tools import MCP, ROLL, Servers


def paired(messages: list[dict[str, Any]]) -> list[list[str]]:
    """The ids of each assistant message's calls; raises unless right behind it stands one output
    for each.
    """
    groups = []
    for place, message in enumerate(messages):
        if message.get("tool_calls"):
            ids = [call["id"] for call in message["tool_calls"]]
            behind = messages[place + 1 : place + 1 + len(ids)]
            assert [each.get("tool_call_id") for each in behind] == ids
            groups.append(ids)
    stated = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert stated == [each for ids in groups for each in ids]
    assert len(set(stated)) == len(stated)
    return groups


async def test_equal_names_of_calls_are_rendered_each_with_its_own_output() -> None:
    created, backend = scripted_parts(ROLLS, ROLLS, stated("5"), ROLLS, stated("6"))
    with_tools(created)

    first = await query(created, tools=[MCP])
    await query(created, tools=[MCP], previous_response_id=first["id"])

    assert len(paired(backend.requests[2]["messages"])) == 2
    assert len(paired(backend.requests[4]["messages"])) == 3


def word(response: dict[str, Any], *, approve: bool = True, place: int = -1) -> dict[str, Any]:
    """The client's word on a request for approval."""
    request_id = response["output"][place]["id"]
    return {"type": "mcp_approval_response", "approval_request_id": request_id, "approve": approve}


async def test_a_call_repeated_after_its_tool_changed_runs_once() -> None:
    created, backend = scripted_parts(ROLLS, stated("5"))
    servers = with_tools(created)
    tools = [{**MCP, "require_approval": "always"}]
    first = await query(created, tools=tools)
    servers.lists["dice"] = ToolListing([{**ROLL, "description": "Rolls dice anew."}])
    second = await query(
        created, tools=tools, input=[word(first)], previous_response_id=first["id"]
    )
    assert items(second) == ["mcp_list_tools", "mcp_approval_request"]

    third = await query(
        created, tools=tools, input=[word(second)], previous_response_id=second["id"]
    )

    assert items(third) == ["mcp_call", "message"]
    assert len(servers.used) == 1
    assert paired(backend.requests[-1]["messages"]) == [["call_1"]]


async def test_a_repeated_call_can_be_refused() -> None:
    created, backend = scripted_parts(ROLLS, stated("All right."))
    servers = with_tools(created)
    tools = [{**MCP, "require_approval": "always"}]
    first = await query(created, tools=tools)
    servers.lists["dice"] = ToolListing([{**ROLL, "description": "Rolls dice anew."}])
    second = await query(
        created, tools=tools, input=[word(first)], previous_response_id=first["id"]
    )

    third = await query(
        created, tools=tools, input=[word(second, approve=False)], previous_response_id=second["id"]
    )

    assert items(third) == ["message"]
    assert not servers.used
    assert paired(backend.requests[-1]["messages"]) == [["call_1"]]
    assert "refused it" in backend.requests[-1]["messages"][-1]["content"]


async def test_an_approval_of_an_unknown_request_is_refused_before_a_stream_begins() -> None:
    created, _ = scripted_parts(stated("5"))
    servers = with_tools(created)
    answer = {"type": "mcp_approval_response", "approval_request_id": "mcpr_none", "approve": True}

    with pytest.raises(ClientError, match="Approval request with id 'mcpr_none' not found"):
        await stream(created, input=[answer], tools=[MCP])

    assert not servers.listed


async def test_a_choice_that_demands_a_call_is_met_by_the_one_that_was_approved() -> None:
    created, backend = scripted_parts(ROLLS, stated("5"))
    with_tools(created)
    body: dict[str, Any] = {
        "tools": [{**MCP, "require_approval": "always"}],
        "tool_choice": "required",
    }
    first = await query(created, **body)

    second = await query(created, input=[word(first)], previous_response_id=first["id"], **body)

    assert [request["tool_choice"] for request in backend.requests] == ["required", "auto"]
    assert second["tool_choice"] == "required"


async def test_a_context_is_measured_before_the_tool_that_is_demanded_is_known() -> None:
    created, _ = scripted_parts(stated("Hello."), ROLLS, stated("5"))
    with_tools(created)
    first = await query(created)

    second = await query(
        created,
        tools=[MCP],
        previous_response_id=first["id"],
        tool_choice={"type": "mcp", "server_label": "dice", "name": "roll"},
        context_management=[{"type": "compaction", "compact_threshold": 100_000}],
    )

    assert items(second) == ["mcp_list_tools", "mcp_call", "message"]


async def test_nothing_is_compacted_while_an_approval_is_pending() -> None:
    usage = {"prompt_tokens": 5000, "completion_tokens": 2, "total_tokens": 5002}
    created, backend = scripted_parts(
        [*ROLLS[:-1], {**ROLLS[-1], "usage": usage}], stated("A summary.")
    )
    with_tools(created)

    first = await query(
        created,
        tools=[{**MCP, "require_approval": "always"}],
        context_management=[{"type": "compaction", "compact_threshold": 1000}],
    )

    assert items(first) == ["mcp_list_tools", "mcp_approval_request"]
    assert first["usage"]["total_tokens"] == 5002
    assert len(backend.requests) == 1


async def test_a_search_for_tools_is_one_of_the_calls_that_are_counted() -> None:
    created, backend = scripted_parts(
        ROLLS, called("tool_search", '{"query": "look"}'), stated("Enough.")
    )
    with_tools(created)
    tool = {
        "type": "function",
        "name": "look",
        "defer_loading": True,
        "parameters": {"type": "object"},
    }

    response = await query(created, tools=[MCP, {"type": "tool_search"}, tool], max_tool_calls=1)

    assert items(response) == ["mcp_list_tools", "mcp_call", "message"]
    assert "tools" not in backend.requests[1]


def rolls(place: int, **extra: Any) -> dict[str, Any]:
    """A delta that is one of several calls."""
    call = {
        "index": place,
        "id": f"call_{place}",
        "function": {"name": "dice__roll", "arguments": "{}"},
        **extra,
    }
    return delta(tool_calls=[call])


async def test_calls_of_one_answer_stay_together_though_the_model_thought_between_them() -> None:
    thoughts = [
        delta(reasoning_content="First."),
        rolls(0),
        delta(reasoning_content="Then."),
        rolls(1),
    ]
    created, backend = scripted_parts(
        [*thoughts, delta("tool_calls")], stated("5"), dialect="deepseek"
    )
    with_tools(created)

    events = await stream(created, tools=[MCP])

    assert_event_stream(events)
    assert paired(backend.requests[1]["messages"]) == [["call_0", "call_1"]]
    assert backend.requests[1]["messages"][1]["reasoning_content"] == "First.\n\nThen."


async def test_signatures_of_calls_go_back_with_all_calls_of_their_answer() -> None:
    signed = [{"extra_content": {"google": {"thought_signature": name}}} for name in ("a", "b")]
    answer = [rolls(0, **signed[0]), rolls(1, **signed[1]), delta("tool_calls")]
    created, backend = scripted_parts(answer, stated("5"), dialect="gemini")
    with_tools(created)

    await query(created, tools=[MCP])

    assert paired(backend.requests[1]["messages"]) == [["call_0", "call_1"]]
    assistant = backend.requests[1]["messages"][1]
    assert [call["extra_content"] for call in assistant["tool_calls"]] == [
        each["extra_content"] for each in signed
    ]


async def test_a_key_to_a_server_is_refused_in_the_background_since_no_worker_would_have_it() -> (
    None
):
    created, _ = scripted_parts(stated("5"))
    with_tools(created)
    body = {
        "model": "m",
        "input": "Hi",
        "background": True,
        "tools": [{**MCP, "authorization": "a-key"}],
    }
    raw = json.dumps(body).encode()

    with pytest.raises(ClientError, match="are not stored"):
        await Gateway(created).queue.enqueue(decode_request(raw), raw)


@pytest.mark.parametrize("tools", [[{}], [{"name": {}}], [{"name": 1}], [{"name": None}]])
async def test_a_list_of_tools_without_names_is_refused(tools: Any) -> None:
    listed = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "dice", "tools": tools}

    with pytest.raises(ClientError, match="name"):
        decode_request(json.dumps({"model": "m", "input": [listed]}).encode())


@pytest.mark.parametrize("allowed", [["roll"], {"tool_names": ["roll", "bowl"]}])
async def test_many_tools_that_are_allowed_by_name_are_picked_out(allowed: Any) -> None:
    created, backend = scripted_parts(stated("5"))
    with_tools(created, Servers(roll="5", cut="6"))

    await query(created, tools=[{**MCP, "allowed_tools": allowed}])

    assert [tool["function"]["name"] for tool in backend.requests[0]["tools"]] == ["dice__roll"]


async def test_a_long_label_leaves_the_model_the_names_of_the_tools() -> None:
    created, backend = scripted_parts(stated("5"))
    with_tools(created, Servers(roll="5", cut="6"))

    await query(created, tools=[{**MCP, "server_label": "a" * 256}])

    names = [tool["function"]["name"] for tool in backend.requests[0]["tools"]]
    assert [name.split("__")[1].split("_")[0] for name in names] == ["roll", "cut"]
    assert all(len(name) <= 64 for name in names)


async def test_a_client_with_its_own_items_approves_one_call_and_refuses_another() -> None:
    requested = calls(
        ("dice__roll", '{"a": 1}'), ("dice__roll", '{"a": 2}'), ("web_search", '{"query": "q"}')
    )
    created, backend = scripted_parts(requested, stated("Done."), stated("More."))
    servers = with_tools(created)
    tools = [{**MCP, "require_approval": "always"}, {"type": "web_search"}]

    events = await stream(created, tools=tools, store=False)

    assert_event_stream(events)
    first = events[-1]["response"]
    assert items(first) == [
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_request",
        "web_search_call",
    ]
    answers = [word(first, place=1), word(first, place=2, approve=False)]
    history = [{"role": "user", "content": "Hi"}, *first["output"], *answers]
    second = await query(created, tools=tools, input=history, store=False)
    assert items(second) == ["mcp_call", "message"]
    more = {"role": "user", "content": "And?"}
    await query(created, tools=tools, input=[*history, *second["output"], more], store=False)
    assert [dict(use.arguments) for use in servers.used] == [{"a": 1}]
    assert paired(backend.requests[1]["messages"]) == [["call_1", "call_2"], ["call_0"]]
    assert paired(backend.requests[2]["messages"]) == [["call_1", "call_2"], ["call_0"]]


async def test_a_search_for_tools_names_what_it_found_as_the_model_is_to_call_it() -> None:
    created, backend = scripted_parts(called("tool_search", '{"query": "roll"}'), stated("Found."))
    with_tools(created)
    tool = {**MCP, "server_label": "my dice", "defer_loading": True}

    await query(created, tools=[tool, {"type": "tool_search"}])

    request = backend.requests[1]
    assert request["tools"][0]["function"]["name"] in request["messages"][-1]["content"]


@pytest.mark.parametrize("is_removed", [True, False])
async def test_an_approved_call_of_a_removed_or_disallowed_tool_is_not_run(
    *, is_removed: bool
) -> None:
    created, backend = scripted_parts(ROLLS, stated("Oh."))
    servers = with_tools(created, Servers(roll="5", cut="6"))
    tool = {**MCP, "require_approval": "always"}
    first = await query(created, tools=[tool])
    if is_removed:
        servers.lists["dice"] = ToolListing([{**ROLL, "name": "cut"}])
    else:
        tool["allowed_tools"] = ["cut"]

    second = await query(
        created, tools=[tool], input=[word(first)], previous_response_id=first["id"]
    )

    assert items(second) == ["mcp_list_tools", "mcp_call", "message"]
    assert second["output"][1]["status"] == "failed"
    assert not servers.used
    assert "does not run the tool any more" in backend.requests[1]["messages"][-1]["content"]


async def test_an_answer_without_reported_tokens_is_measured_next_to_calls_with_them() -> None:
    usage = {"usage": {"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520}}
    reported = [*ROLLS[:-1], ROLLS[-1] | usage]
    created, _ = scripted_parts(reported, stated(*["word "] * 400), plain("never"))
    with_tools(created)
    run = await begin(created, tools=[MCP])
    response = await run.result()

    assert response.usage is not None
    assert response.usage.output_tokens == 20
    assert 420 <= run.spent().output_tokens < 600
    assert run.spent().input_tokens > 500
