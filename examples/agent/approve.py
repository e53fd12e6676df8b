from openai import OpenAI
from openai.types.responses.response_input_param import McpApprovalResponse

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")
first = client.responses.create(model="refunds", input="Refund order 17")

for request in first.output:
    if request.type == "mcp_approval_request":
        print(f"May {request.server_label} call {request.name} with {request.arguments}? Yes.")
        answer = McpApprovalResponse(type="mcp_approval_response", approval_request_id=request.id, approve=True)
        second = client.responses.create(model="refunds", previous_response_id=first.id, input=[answer])
        print(second.output_text)
