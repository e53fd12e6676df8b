"""The reference of the request's parameters says what the code does: every field, once, with its
true treatment.
"""

import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec import Struct

from antiphon.errors import ClientError
from antiphon.protocol.formats import JsonObjectFormat, JsonSchemaFormat, TextFormat
from antiphon.protocol.items.content import Unsupported
from antiphon.protocol.requests import CreateResponse, ReasoningConfig, StreamOptions, TextConfig
from antiphon.protocol.tools import AllowedTools, FunctionChoice, FunctionTool
from antiphon.protocol.validation.validate import decode_request

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "parameters.md"
ROW = re.compile(r"^\| `([^`]+)` \| (applied|rejected|no-op) \| (.+) \|$", re.MULTILINE)
NESTED: list[tuple[str, type[Struct]]] = [
    ("text.", TextConfig),
    ("text.format.", TextFormat),
    ("text.format.", JsonObjectFormat),
    ("text.format.", JsonSchemaFormat),
    ("reasoning.", ReasoningConfig),
    ("stream_options.", StreamOptions),
    ("tools[].", FunctionTool),
    ("tool_choice.", FunctionChoice),
    ("tool_choice.", AllowedTools),
]
REFUSED_VALUES = {"reasoning.mode": "pro"}
GOOD: dict[str, Any] = {"model": "m", "input": "x"}
TOOL = {"type": "function", "name": "f"}


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall(PAGE.read_text("utf-8"))


def fields(cls: type[Struct], prefix: str = "") -> set[str]:
    return {prefix + field.encode_name for field in msgspec.structs.fields(cls)}


def test_every_parameter_has_its_row_and_every_row_its_parameter() -> None:
    names = [name for name, _, _ in rows()]
    typed = fields(CreateResponse).union(*(fields(cls, prefix) for prefix, cls in NESTED))
    assert sorted(names) == sorted(typed)


def test_the_rows_stand_in_the_order_in_which_the_fields_are_checked() -> None:
    names = [name for name, _, _ in rows() if "." not in name]
    assert names == [field.encode_name for field in msgspec.structs.fields(CreateResponse)]


def test_every_unsupported_parameter_is_listed_as_refused() -> None:
    treatments = {name: treatment for name, treatment, _ in rows()}
    unsupported = {
        field.name for field in msgspec.structs.fields(CreateResponse) if field.type == Unsupported
    }
    assert unsupported
    assert {treatments[name] for name in unsupported} == {"rejected"}


@pytest.mark.parametrize("name", [name for name, treatment, _ in rows() if treatment == "rejected"])
def test_what_is_listed_as_refused_is_refused_by_name(name: str) -> None:
    value = REFUSED_VALUES.get(name, True)
    outer, _, inner = name.partition(".")
    body: dict[str, Any] = {name: value}
    if inner:
        body = {"tools": [TOOL | {inner: value}]} if outer == "tools[]" else {outer: {inner: value}}
    with pytest.raises(ClientError) as caught:
        decode_request(json.dumps(GOOD | body).encode())
    assert caught.value.param == name.replace("[]", "[0]")
    assert caught.value.code in {"unsupported_parameter", "unsupported_value"}


@pytest.mark.parametrize(
    "name", [name for name, treatment, _ in rows() if treatment != "rejected" and "." not in name]
)
def test_what_is_not_listed_as_refused_is_taken(name: str) -> None:
    samples: dict[str, Any] = {
        "include": [],
        "previous_response_id": "resp_1",
        "conversation": "conv_1",
        "prompt": {"id": "pmpt_1"},
        "tools": [TOOL],
        "tool_choice": "auto",
        "metadata": {},
        "text": {},
        "stream_options": {},
        "reasoning": {},
        "prompt_cache_options": {},
        "prompt_cache_retention": "24h",
        "truncation": "auto",
        "service_tier": "auto",
        "client_metadata": {},
        "background_options": {"continuation_id": "line-4"},
        "antiphon": {},
        "context_management": [{"type": "compaction"}],
        "max_output_tokens": 16,
        **dict.fromkeys(["temperature", "top_p", "presence_penalty", "frequency_penalty"], 1),
        **dict.fromkeys(["max_tool_calls", "top_logprobs"], 1),
        **dict.fromkeys(["parallel_tool_calls", "stream", "store", "background"], True),
    }
    body = GOOD | {"stream": True, name: samples.get(name, "x")}
    assert getattr(decode_request(json.dumps(body).encode()), name) is not None


def test_an_unsupported_parameter_accepts_only_absence_and_null() -> None:
    assert set(get_args(Unsupported)) == {msgspec.UnsetType, type(None)}
