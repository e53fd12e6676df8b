"""Tools that a client runs."""

from typing import Any

from antiphon_verify.areas.responses import tools
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled
from tests.unit.conformance.exchanges.bodies import CALL, RESPONSE

TEXT = says(RESPONSE)

REFUSED = error("Invalid value: 'custom_tool_call_output'.")

BAD_GRAMMAR = error("Invalid grammar.", 400, "invalid_grammar", "tools[0].format.definition")


def calling(*items: dict[str, Any], **fields: Any) -> Answer:
    return says(RESPONSE | {"output": list(items), **fields})


def custom(name: str, input: str = "Roses.") -> Answer:
    return calling({"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": name, "input": input})


WORLD = calling(CALL | {"namespace": "world"}, tools=[tools.WORLD])

SPLIT = calling(CALL | {"name": "world__get_weather"}, tools=[tools.WORLD])

SEARCH = {
    "id": "tsc_1",
    "type": "tool_search_call",
    "status": "completed",
    "execution": "client",
    "call_id": "call_1",
    "arguments": {"goal": "the weather"},
}

SEARCHING, FOUND = calling(SEARCH), calling(CALL)

ACTIONS: dict[str, dict[str, Any]] = {
    "shell": {"action": {"commands": ["ls"]}},
    "local-shell": {"action": {"type": "exec", "command": ["ls"], "env": {}}},
    "apply-patch": {"operation": {"type": "create_file", "path": "hello.txt", "diff": "+hello"}},
    "computer": {"actions": [{"type": "screenshot"}], "pending_safety_checks": []},
}


def built_in(name: str) -> dict[str, Shown]:
    case = next(case for case in tools.USING if case.name == f"built_in_{name.replace('-', '_')}")
    one = tools.BUILT_IN[name]
    call = {"id": "x_1", "type": one.item, "status": "completed", "call_id": "call_1"}
    told = {"tools": [one.tool]}
    bad = {
        f"responses:tools:{name}-told": [calling(call | ACTIONS[name], tools=[])],
        f"responses:tools:{name}-item": [calling(call, **told)],
        f"responses:tools:{name}-used": [says(RESPONSE | told)],
    }
    return shown(case, [calling(call | ACTIONS[name], **told)], bad)


EXCHANGES: dict[str, Shown] = {
    **shown(
        tools.one_of_two_custom_tools_is_called,
        [custom("write_poem"), TEXT],
        {
            "responses:tools:custom-chosen": [custom("write_note"), TEXT],
            "responses:tools:custom-output": [custom("write_poem"), REFUSED],
        },
    ),
    **spoiled(tools.a_grammar_is_fitted, [custom("answer", "yes")], [custom("answer", "Yes, I think so.")]),
    **spoiled(tools.a_grammar_is_none, [BAD_GRAMMAR], [TEXT]),
    **shown(
        tools.a_namespaces_tool_is_called_twice,
        [WORLD, WORLD],
        {
            "responses:tools:namespace-told": [WORLD.patched("tools", to=[]), WORLD],
            "responses:tools:namespace-output": [WORLD, REFUSED],
            "responses:tools:namespace-again": [WORLD, SPLIT],
        },
    ),
    **spoiled(tools.a_tool_stands_in_the_input, [FOUND], [TEXT]),
    **shown(
        tools.a_client_searches_for_a_tool,
        [SEARCHING, FOUND],
        {
            "responses:tools:search-call": [calling(SEARCH | {"arguments": '{"goal": "the weather"}'})],
            "responses:tools:search-output": [SEARCHING, REFUSED],
            "responses:tools:search-found": [SEARCHING, TEXT],
        },
    ),
    **{each: one for name in tools.BUILT_IN for each, one in built_in(name).items()},
    **{each: one for case in tools.TAKEN for each, one in spoiled(case, [TEXT], [REFUSED]).items()},
}
