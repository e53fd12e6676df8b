"""What is kept of a background request that carries keys to other servers."""

import json

from antiphon.access.credentials import without_credentials
from antiphon.protocol.requests import LocalRequest
from antiphon.protocol.validation.validate import decode_request

BODY = {
    "model": "m",
    "input": "Hi",
    "tools": [
        {
            "type": "mcp",
            "server_label": "s",
            "server_url": "https://mcp.example.com",
            "authorization": "secret",
        }
    ],
    "top_k": 20,
    "chat_template_kwargs": {"enable_thinking": False},
}


def test_the_keys_go_and_parameters_of_the_backend_stay() -> None:
    body = json.dumps(BODY).encode()
    stored = without_credentials(decode_request(body, lambda name: True), body)
    assert b"secret" not in stored
    again = decode_request(stored, lambda name: True)
    assert isinstance(again, LocalRequest)
    assert again.parameters == {"top_k": 20, "chat_template_kwargs": {"enable_thinking": False}}
