import sys
import time

from openai import OpenAI
from openai.types.responses import Response
from openai.types.responses.response_input_param import McpApprovalResponse

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")


def finished(response: Response) -> Response:
    """Wait until a background response has ended."""
    while response.status in ("queued", "in_progress"):
        time.sleep(0.5)
        response = client.responses.retrieve(response.id)
    return response


first = finished(client.responses.create(model="refunds", input=f"Refund order {sys.argv[1]}", background=True))
for item in first.output:
    if item.type == "mcp_approval_request":
        print(f"May the agent call {item.name} with {item.arguments}? y")
        answer = McpApprovalResponse(type="mcp_approval_response", approval_request_id=item.id, approve=True)
        last = finished(
            client.responses.create(model="refunds", previous_response_id=first.id, input=[answer], background=True)
        )
        print(last.output_text)
