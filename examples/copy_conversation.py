"""Copy a conversation from OpenAI, or another server of the API, to Antiphon: `python copy_conversation.py conv_…`."""

import os
import sys
from typing import Any

from openai import OpenAI

COPIED = {"message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"}
AT_ONCE = 20  # the API accepts so many items in one request

source = OpenAI(base_url=os.environ.get("SOURCE_BASE_URL", "https://api.openai.com/v1"))  # reads OPENAI_API_KEY
target = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key=os.environ.get("ANTIPHON_KEY", "none"))

items: list[Any] = []
skipped = 0
for item in source.conversations.items.list(sys.argv[1], order="asc", limit=100):
    if item.type in COPIED:
        items.append(item.to_dict(exclude_unset=True) | {"id": None})
    else:
        skipped += 1  # such as reasoning, which only the server that wrote it can read

copy = target.conversations.create(metadata={"copied_from": sys.argv[1]})
for start in range(0, len(items), AT_ONCE):
    target.conversations.items.create(copy.id, items=items[start : start + AT_ONCE])
print(copy.id, len(items), "items copied,", skipped, "skipped")
