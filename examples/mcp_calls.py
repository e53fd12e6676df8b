"""Call the tools of an MCP server: the server lists them, runs the calls and answers in one response.

The MCP server is `sums_server.py` on this machine, so `make serve` needs `ANTIPHON_OUTGOING_NETWORKS=127.0.0.1`.
"""

from openai import OpenAI
from openai.types.responses import ToolParam

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

SUMS: ToolParam = {
    "type": "mcp",
    "server_label": "sums",
    "server_url": "http://127.0.0.1:8100/mcp",
    "allowed_tools": ["add"],
    "require_approval": "never",
}

# A real model decides what to call. The scripted model demo makes the calls that its input spells out.
question = 'How much is one and one?\ncall add {"a": 1, "b": 1}'
with client.responses.stream(model="demo", input=question, tools=[SUMS]) as stream:
    for event in stream:
        if event.type == "response.output_item.done":
            item = event.item
            if item.type == "mcp_list_tools":
                print(item.server_label, "has", ", ".join(tool.name for tool in item.tools))
            elif item.type == "mcp_call":
                print(item.name, item.arguments, "gave", item.output or item.error)
        elif event.type == "response.output_text.delta":
            print(event.delta, end="", flush=True)
    first = stream.get_final_response()
print()

second = client.responses.create(
    model="demo", input='And two?\ncall add {"a": 2, "b": 2}', tools=[SUMS], previous_response_id=first.id
)
print("The list is not sent again:", ", ".join(item.type for item in second.output))
