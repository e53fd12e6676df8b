"""Translate a request to Chat Completions, and show how families of backends differ."""

import json

from antiphon import ClientError
from antiphon.ids import new_id
from antiphon.translation import decode_request, find_dialect, normalise_input, to_chat

BODY = {
    "model": "m",
    "instructions": "Be brief.",
    "input": "Hello!",
    "max_output_tokens": 100,
    "reasoning": {"effort": "high"},
    "text": {"verbosity": "low"},
}

request = decode_request(json.dumps(BODY).encode())
items = normalise_input(request.input, new_id)
for url in ("https://api.openai.com/v1", "http://127.0.0.1:11434/v1", "https://api.deepseek.com/v1"):
    dialect = find_dialect(url, owned_by=set(), server="", configured=None)
    print(dialect.name, json.dumps(to_chat(request, items, dialect)))

try:
    decode_request(json.dumps({**BODY, "temprature": 0.2}).encode())
except ClientError as error:
    print(error.status_code, error.code, error.param, error.message)
