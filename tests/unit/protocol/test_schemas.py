import time
from typing import Any

import pytest

from antiphon.protocol.schemas import misfit
from tests.support.extras import without

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "in": {"$ref": "#"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "Rome"}', ""),
        ('{"name": "Rome", "in": {"name": "Italy"}}', ""),
        ('{"name": "Rome", "in": {"name": 1}}', "At $.in.name: 1 is not of type"),
        ("{}", 'At $: "name" is a required property.'),
        ('{"name": "rome"}', "At $.name:"),
        ("Rome", "It is not JSON: JSON is malformed"),
        ("", "It is not JSON"),
        ('{"a":' * 100_000, "It is not JSON"),
    ],
)
def test_a_text_that_does_not_fit_has_the_position(text: str, words: str) -> None:
    stated = misfit(CITY, text)
    assert stated.startswith(words) if words else stated == ""


@pytest.mark.parametrize(
    "schema", [{"type": 3}, {"$ref": "http://127.0.0.1:1/x"}, {"pattern": "("}]
)
def test_an_invalid_schema_accepts_any_json_and_fetches_nothing(schema: dict[str, Any]) -> None:
    assert misfit(schema, '"x"') == ""


def test_a_regular_expression_of_a_client_takes_no_long_time() -> None:
    schema = {"type": "string", "pattern": "^(?=a)(a|a)*(?!x)$"}
    began = time.process_time()
    assert misfit(schema, f'"{"a" * 40}x"') == ""
    assert time.process_time() - began < 5


def test_schema_and_value_may_nest_deeply() -> None:
    schema: dict[str, Any] = {"type": "object", "additionalProperties": {"$ref": "#"}}
    text = '{"a":' * 400 + "{}" + "}" * 400
    assert misfit(schema, text) == ""
    nested: dict[str, Any] = {"type": "integer"}
    for _ in range(5000):
        nested = {"properties": {"a": nested}}
    assert misfit(nested, "{}") == ""


def test_without_the_extra_every_schema_fits_and_the_log_reports_it_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with without("correct"):
        assert [misfit(CITY, text) for text in ("{}", '{"name": 1}')] == ["", ""]
        assert misfit(CITY, "{") != ""
        assert misfit({"type": "string"}, "1") == ""
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == [
        "pip install 'antiphon[correct]'"
    ]
