"""A support agent: it searches the knowledge base, looks up orders, and asks you before each refund."""

import sys

from openai import OpenAI
from openai.types.responses import Response, ResponseInputParam, ToolParam

MODEL = "demo"  # for example qwen3:8b
INSTRUCTIONS = "You answer customers of a lamp shop. Search the knowledge base for rules. Be brief and friendly."

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")
handbook = next((store for store in client.vector_stores.list() if store.name == "handbook"), None)
if handbook is None:
    sys.exit("Create the knowledge base first: antiphon stores add knowledge --into handbook")

TOOLS: list[ToolParam] = [
    {"type": "file_search", "vector_store_ids": [handbook.id]},
    {"type": "mcp", "server_label": "orders", "require_approval": {"never": {"read_only": True}}},
]


def prompt_user(prompt: str) -> str:
    """Read a line; show it if it comes from a file instead of a keyboard."""
    line = input(prompt)
    if not sys.stdin.isatty():
        print(line)
    return line


def decisions(response: Response) -> ResponseInputParam:
    """Return your decision on each call that needs an approval."""
    decided: ResponseInputParam = []
    for item in response.output:
        if item.type == "mcp_approval_request":
            approve = prompt_user(f"Allow {item.name} {item.arguments}? [y/n] ") == "y"
            decided.append({"type": "mcp_approval_response", "approval_request_id": item.id, "approve": approve})
    return decided


def sources(response: Response) -> list[str]:
    """Return the names of the files that the answer cites."""
    texts = [part for item in response.output if item.type == "message" for part in item.content]
    cited = [one for part in texts if part.type == "output_text" for one in part.annotations]
    return sorted({one.filename for one in cited if one.type == "file_citation"})


previous: str | None = None
while True:
    try:
        content: ResponseInputParam = [{"role": "user", "content": prompt_user("You: ")}]
    except EOFError:
        print()
        break
    while content:
        response = client.responses.create(
            model=MODEL, instructions=INSTRUCTIONS, input=content, tools=TOOLS, previous_response_id=previous
        )
        previous, content = response.id, decisions(response)
    print("Agent:", response.output_text, *(f"[{name}]" for name in sources(response)))
