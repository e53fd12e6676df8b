"""Approve calls of an MCP server: tools that only read run at once, all others wait for your approval.

The MCP server is `sums_server.py` on this machine, so `make serve` needs `ANTIPHON_OUTGOING_NETWORKS=127.0.0.1`.
"""

from openai import OpenAI
from openai.types.responses import ResponseInputParam, ToolParam

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

SUMS: ToolParam = {
    "type": "mcp",
    "server_label": "sums",
    "server_url": "http://127.0.0.1:8100/mcp",
    "require_approval": {"never": {"read_only": True}},
}

content: ResponseInputParam = [{"role": "user", "content": 'call add {"a": 1, "b": 1}\ncall count'}]
before = None
while content:
    response = client.responses.create(model="demo", input=content, tools=[SUMS], previous_response_id=before)
    before, content = response.id, []
    for item in response.output:
        if item.type == "mcp_call":
            print(item.name, "gave", item.output)
        elif item.type == "mcp_approval_request":
            print(f"May {item.name} be called with {item.arguments}? Yes.")
            content.append({"type": "mcp_approval_response", "approval_request_id": item.id, "approve": True})
print(response.output_text)
