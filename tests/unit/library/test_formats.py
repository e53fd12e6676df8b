"""Classes of a program become strict schemas, and texts become their objects."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, Field

from antiphon.library.formats import parsed, with_format
from antiphon.protocol.formats import JsonSchemaFormat
from antiphon.protocol.items.content import OutputText, Refusal
from antiphon.protocol.items.messages import Message
from antiphon.protocol.response import Response
from antiphon.protocol.validation.schema_rules import check_text_schema


class Sky(Enum):
    CLEAR = "clear"
    GREY = "grey"


@dataclass
class Wind:
    speed: Annotated[float, msgspec.Meta(ge=0, description="In metres per second.")] = 0.0
    gusts: "list[Wind]" = field(default_factory=list)


@dataclass
class Day:
    """The weather of a day."""

    wind: Wind
    kind: Literal["sun", "rain"] = "sun"
    sky: Sky = Sky.CLEAR
    default: Wind | None = None


class Days(msgspec.Struct):
    days: list[Day]


class Town(BaseModel):
    name: str = Field("Oslo", description="In English.")


class Route(BaseModel):
    begin: Town = Field(description="The first town.")
    others: list[Town] = []


@pytest.mark.parametrize("kind", [Wind, Day, Days, Town, Route])
def test_the_schema_of_a_class_is_strict(kind: type[Any]) -> None:
    created = with_format({"verbosity": "low"}, kind)

    assert (created["verbosity"], created["format"]["name"], created["format"]["type"]) == (
        "low",
        kind.__name__,
        "json_schema",
    )
    provided = msgspec.convert(
        {name: value for name, value in created["format"].items() if name != "type"},
        JsonSchemaFormat,
    )
    assert provided.strict
    check_text_schema(provided)


def test_every_field_is_required_and_none_has_a_default() -> None:
    schema = with_format(None, Day)["format"]["schema"]

    assert schema["required"] == ["wind", "kind", "sky", "default"]
    assert schema["properties"]["kind"] == {"enum": ["rain", "sun"]}
    assert schema["$defs"]["Wind"]["properties"]["speed"] == {
        "description": "In metres per second.",
        "type": "number",
        "minimum": 0,
    }


def test_a_reference_stands_alone() -> None:
    assert with_format(None, Route)["format"]["schema"]["properties"]["begin"] == {
        "anyOf": [{"$ref": "#/$defs/Town"}],
        "description": "The first town.",
    }


@pytest.mark.parametrize("kind", [int, str, list[int], dict[str, int], dict])
def test_a_type_without_fields_is_no_format(kind: Any) -> None:
    with pytest.raises(TypeError, match="not a class with fields"):
        with_format(None, kind)


def test_a_second_format_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"`text_format` or .*`text`"):
        with_format({"format": {"type": "text"}}, Day)


def response(*contents: Any, status: Any = "completed") -> Response:
    output: list[Any] = [Message(role="assistant", content=[content]) for content in contents]
    return Response(id="resp_1", created_at=0, model="m", status=status, output=output)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Wind, '{"speed": 2.5, "gusts": [{"speed": 4}]}', Wind(2.5, [Wind(4)])),
        (Days, '{"days": []}', Days([])),
        (Town, '{"name": "Rome"}', Town(name="Rome")),
    ],
)
def test_the_last_message_is_the_object(kind: type[Any], text: str, expected: Any) -> None:
    provided = response(OutputText(text="I look."), OutputText(text=text))
    created = parsed(provided, kind)

    assert created.output_parsed == expected
    assert created.to_dict() == provided.to_dict()
    assert isinstance(created, Response)


@pytest.mark.parametrize(
    "provided",
    [
        response(),
        response(Refusal(refusal="No.")),
        response(OutputText(text='{"spe'), status="incomplete"),
    ],
    ids=["nothing", "a refusal", "a part"],
)
def test_a_response_without_a_whole_answer_has_no_object(provided: Response) -> None:
    assert parsed(provided, Wind).output_parsed is None


@pytest.mark.parametrize("kind", [Wind, Town])
def test_a_text_that_does_not_fit_is_an_error(kind: type[Any]) -> None:
    with pytest.raises(ValueError, match=r"speed|name"):
        parsed(response(OutputText(text='{"speed": "fast", "name": 1}')), kind)
