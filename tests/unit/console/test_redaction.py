"""What the console never shows is struck out wherever it stands, and nothing else is."""

from typing import Any

import pytest

from antiphon.console.redaction import STRUCK_OUT, redacted


@pytest.mark.parametrize(
    "name", ["authorization", "headers", "api_key", "secret", "encrypted_content"]
)
def test_a_secret_is_struck_out_however_deep_it_lies(name: str) -> None:
    displayed = redacted(
        {"output": [{"type": "mcp_call", "tool": {name: {"x": "sk-1"}, "server_label": "files"}}]}
    )

    assert displayed == {
        "output": [{"type": "mcp_call", "tool": {name: STRUCK_OUT, "server_label": "files"}}]
    }


@pytest.mark.parametrize("nothing", [None, "", {}])
def test_a_field_without_a_secret_stays(nothing: Any) -> None:
    assert redacted({"headers": nothing}) == {"headers": nothing}


@pytest.mark.parametrize("name", ["parameters", "schema", "input_schema"])
def test_the_argument_of_a_function_may_have_the_name_of_a_secret(name: str) -> None:
    tool = {
        "type": "function",
        "name": "sign_in",
        name: {"properties": {"secret": {"type": "string"}}},
    }

    assert redacted([tool]) == [tool]
