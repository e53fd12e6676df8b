"""Tools of an MCP server: the checker runs the MCP server, and the tested server lists and calls its tools."""

from antiphon_verify.areas.responses.mcp import approval, calls, fields
from antiphon_verify.case import cases_of
from antiphon_verify.requirement import Table, capability, must, should

TABLE: Table = (
    must(
        "responses:mcp:list-item",
        "spec 5",
        "A list of tools is an item with an id, the server's label, and tools with names and schemas.",
    ),
    must("responses:mcp:list-before", "spec 16", "The tool list comes before the model's output."),
    should("responses:mcp:list-whole", "spec 5", "The tool list has every tool with its description and its schema."),
    must("responses:mcp:list-once", "issue ogx#4452", "The next turn of a chain does not list the tools again."),
    must(
        "responses:mcp:list-given",
        "issue ogx#4452",
        "MCP items sent back as input are accepted, and their tools are not listed again.",
    ),
    must(
        "responses:mcp:call-item",
        "spec 5",
        "A call is an item with an id, a status, the server's label, the tool's name and its arguments.",
    ),
    must("responses:mcp:call-arguments", "spec 5", "The arguments of a call are those that the MCP server received."),
    must("responses:mcp:call-output", "spec 5", "The output of a call is what the MCP server returned."),
    should(
        "responses:mcp:call-structured",
        "issue memos#6226",
        "The output of a call has the structured content that its text does not have.",
    ),
    must("responses:mcp:call-once", "spec 16", "The MCP server receives as many calls as there are call items."),
    must("responses:mcp:goes-on", "spec 16", "After its calls a response continues to its end, and is completed."),
    must("responses:mcp:list-order", "spec 16", "The steps of a tool list are in progress, completed."),
    must("responses:mcp:call-order", "spec 16", "The steps of a call are in progress, arguments, completed."),
    must("responses:mcp:streamed-same", "spec 7", "Streamed MCP items have the same keys as those not streamed."),
    must(
        "responses:mcp:error-item",
        "spec 5",
        "A failed tool call has the status `failed`, an error with the tool's message, and no output.",
    ),
    must("responses:mcp:error-goes-on", "spec 16", "A failed tool call does not fail the response."),
    must("responses:mcp:approval-default", "spec 6", "Without `require_approval`, no tool is called without approval."),
    must(
        "responses:mcp:approval-item",
        "spec 5",
        "An approval request is an item with an id, the server's label, the tool's name and its arguments.",
    ),
    must("responses:mcp:approval-ends", "spec 16", "An approval request ends the response, which is completed."),
    must("responses:mcp:approved", "spec 16", "An approved call runs as it was requested."),
    must("responses:mcp:approved-id", "spec 5", "The call has the id of its request in `approval_request_id`."),
    must("responses:mcp:denied", "spec 16", "A denied call does not run."),
    must("responses:mcp:denied-goes-on", "spec 16", "After a denial the response continues, and is completed."),
    should("responses:mcp:approval-unknown", "spec 13", "An approval of an unknown request is rejected."),
    must(
        "responses:mcp:approval-changed",
        "spec 16",
        "With `previous_response_id`, a call does not run if the client changed its approval request.",
    ),
    should("responses:mcp:approval-changed-refused", "spec 13", "A changed approval request is rejected with 400."),
    must(
        "responses:mcp:approval-invented",
        "spec 16",
        "With `previous_response_id`, a call does not run if the client invented its approval request.",
    ),
    should("responses:mcp:approval-invented-refused", "spec 13", "An invented approval request is rejected with 400."),
    must("responses:mcp:approval-always", "spec 6", "Tools under `always` in `require_approval` need an approval."),
    must(
        "responses:mcp:approval-never",
        "spec 6",
        "Tools under `never` in `require_approval` are called without approval.",
    ),
    must("responses:mcp:allowed-names", "spec 6", "With names in `allowed_tools`, only these tools are listed."),
    should(
        "responses:mcp:allowed-read-only",
        "spec 6",
        "With `read_only` in `allowed_tools`, only read-only tools are listed.",
    ),
    must("responses:mcp:authorization-sent", "spec 6", "The MCP server receives `authorization` as a bearer token."),
    must("responses:mcp:headers-sent", "spec 6", "The MCP server receives the tool's `headers`."),
    must("responses:mcp:secrets-hidden", "spec 6", "`authorization` and header values are not echoed."),
    must(
        "responses:mcp:secrets-hidden-stored",
        "spec 6",
        "The stored response contains neither `authorization` nor header values.",
    ),
    must("responses:mcp:secrets-hidden-streamed", "spec 6", "No event contains `authorization` or header values."),
    must("responses:mcp:choice", "spec 6", "With a `tool_choice` that names an MCP tool, the model calls the tool."),
    should("responses:mcp:choice-unknown", "spec 13", "A `tool_choice` with an unknown label is rejected."),
    must("responses:mcp:max-tool-calls", "spec 2", "A response makes no more calls than `max_tool_calls`."),
    must("responses:mcp:no-address", "spec 13", "An MCP tool without a URL or connector is rejected with a 4xx."),
    must("responses:mcp:no-label", "spec 13", "An MCP tool without a label is rejected with a 4xx."),
    should("responses:mcp:same-label", "spec 13", "Two MCP tools with the same label are rejected with a 4xx."),
    capability(should("responses:mcp:used", "spec 16", "The model calls the tool of an MCP server when prompted to.")),
)

CASES = cases_of(calls, approval, fields)
