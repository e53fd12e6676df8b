"""Tools of an MCP server: the run's own, which the tested server lists and calls."""

from antiphon.conformance.areas.responses.mcp import approval, calls, fields
from antiphon.conformance.case import cases_of
from antiphon.conformance.requirement import Table, capability, must, should

TABLE: Table = (
    must(
        "responses:mcp:list-item",
        "spec 5",
        "A list of tools is an item with an id, the server's label, and tools with names and schemas.",
    ),
    must("responses:mcp:list-before", "spec 16", "The tools are listed before the model's output."),
    should("responses:mcp:list-whole", "spec 5", "The list has every tool with its description and its schema."),
    must("responses:mcp:list-once", "issue ogx#4452", "What a chain has listed is not listed again in its next turn."),
    must(
        "responses:mcp:list-given",
        "issue ogx#4452",
        "Items of tools, sent back as input, are taken, and what they list is not listed again.",
    ),
    must(
        "responses:mcp:call-item",
        "spec 5",
        "A call is an item with an id, a status, the server's label, the tool's name and its arguments.",
    ),
    must("responses:mcp:call-arguments", "spec 5", "A call's arguments are those that the MCP server got."),
    must("responses:mcp:call-output", "spec 5", "A call's output is what the MCP server answered."),
    must("responses:mcp:call-once", "spec 16", "The MCP server is called as often as items say."),
    must("responses:mcp:goes-on", "spec 16", "After its calls a response goes on to its end, and is completed."),
    must("responses:mcp:list-order", "spec 16", "A list is in progress, then completed."),
    must("responses:mcp:call-order", "spec 16", "A call is in progress, gets its arguments, then is completed."),
    must("responses:mcp:streamed-same", "spec 7", "Streamed items of tools have the keys of plain ones."),
    must(
        "responses:mcp:error-item",
        "spec 5",
        "A tool's failure is its call's: status `failed`, an error with the tool's words, no output.",
    ),
    must("responses:mcp:error-goes-on", "spec 16", "A tool's failure does not fail the response."),
    must("responses:mcp:approval-default", "spec 6", "Without `require_approval` nothing is called unasked."),
    must(
        "responses:mcp:approval-item",
        "spec 5",
        "A request for approval is an item with an id, the server's label, the tool's name and its arguments.",
    ),
    must("responses:mcp:approval-ends", "spec 16", "A request for approval ends the response, which is completed."),
    must("responses:mcp:approved", "spec 16", "What was approved is called, as it was asked for."),
    must("responses:mcp:approved-id", "spec 5", "The call names the request in `approval_request_id`."),
    must("responses:mcp:denied", "spec 16", "What was denied is not called."),
    must("responses:mcp:denied-goes-on", "spec 16", "After a denial the response goes on, and is completed."),
    should("responses:mcp:approval-unknown", "spec 13", "The approval of a request that is not there is refused."),
    must(
        "responses:mcp:approval-changed",
        "spec 16",
        "With `previous_response_id`, a call that the client changed in its request for approval is not made.",
    ),
    should("responses:mcp:approval-changed-refused", "spec 13", "A changed request for approval is refused with 400."),
    must(
        "responses:mcp:approval-invented",
        "spec 16",
        "With `previous_response_id`, a call in a request for approval that the client invented is not made.",
    ),
    should(
        "responses:mcp:approval-invented-refused", "spec 13", "An invented request for approval is refused with 400."
    ),
    must("responses:mcp:approval-always", "spec 6", "Tools under `always` in `require_approval` are asked for."),
    must("responses:mcp:approval-never", "spec 6", "Tools under `never` in `require_approval` are called unasked."),
    must("responses:mcp:allowed-names", "spec 6", "With names in `allowed_tools` only these are listed."),
    should("responses:mcp:allowed-read-only", "spec 6", "With `read_only` in `allowed_tools` only such are listed."),
    must("responses:mcp:authorization-sent", "spec 6", "The MCP server gets `authorization` as a bearer token."),
    must("responses:mcp:headers-sent", "spec 6", "The MCP server gets the tool's `headers`."),
    must("responses:mcp:secrets-hidden", "spec 6", "Neither `authorization` nor a header's value is echoed."),
    must("responses:mcp:secrets-hidden-stored", "spec 6", "Neither of them is in the stored response."),
    must("responses:mcp:secrets-hidden-streamed", "spec 6", "Neither of them is in any event."),
    must("responses:mcp:choice", "spec 6", "A `tool_choice` of an MCP tool has it called."),
    should("responses:mcp:choice-unknown", "spec 13", "A `tool_choice` of a label that no tool has is refused."),
    must("responses:mcp:max-tool-calls", "spec 2", "No more calls are made than `max_tool_calls` allows."),
    must("responses:mcp:no-address", "spec 13", "An MCP tool without URL and connector is refused with a 4xx."),
    must("responses:mcp:no-label", "spec 13", "An MCP tool without a label is refused with a 4xx."),
    should("responses:mcp:same-label", "spec 13", "Two MCP tools of one label are refused with a 4xx."),
    capability(should("responses:mcp:used", "spec 16", "The model calls an MCP server's tool where it is asked to.")),
)

CASES = cases_of(calls, approval, fields)
