"""The pages of the HTTP API say what the server's OpenAPI document says."""

import pytest

from tests.support.site import load

pages = load("site_openapi")
DOCUMENT = pages.describe()


def test_every_endpoint_is_on_the_page() -> None:
    text = pages.endpoints(DOCUMENT)
    operations = [(method, path) for path, each in DOCUMENT["paths"].items() for method in each]

    assert [
        each
        for each in operations
        if f"`{each[0].upper()}`{{.method .{each[0]}}} `{each[1]}`\n" not in text
    ] == []


@pytest.mark.parametrize(
    ("path", "group"),
    [
        ("/v1/responses/{response_id}", "Responses"),
        ("/v1/vector_stores", "Vector stores"),
        ("/v1/uploads/{upload_id}/parts", "Files and uploads"),
        ("/v1/webhook_event_types", "Webhooks"),
        ("/admin/v1/keys", "Administration"),
        ("/", "Health and metrics"),
        ("/openapi.json", "Health and metrics"),
    ],
)
def test_a_group_is_named_after_the_path_or_in_the_table(path: str, group: str) -> None:
    section = pages.endpoints(DOCUMENT).partition(f"## {group}\n")[2].partition("\n## ")[0]

    assert pages.group_of(path) == group
    assert f" `{path}`\n" in section


def test_the_page_begins_with_responses() -> None:
    assert pages.endpoints(DOCUMENT).startswith("## Responses\n")


def test_every_schema_has_a_section_that_links_lead_to() -> None:
    text = pages.schemas(DOCUMENT)

    assert [name for name in DOCUMENT["components"]["schemas"] if f"## {name}\n" not in text] == []


def test_an_endpoint_shows_parameters_fields_and_responses() -> None:
    text = "\n".join(
        pages.endpoint(
            "post", "/v1/responses", DOCUMENT["paths"]["/v1/responses"]["post"], DOCUMENT
        )
    )

    assert "| `Idempotency-Key` | header | string (at most 255 characters) |  |" in text
    assert (
        "**Body**: `application/json`, "
        "[CreateResponse](/reference/openapi/schemas.md#createresponse)"
    ) in text
    assert "| `temperature` | number (from 0 to 2) or null |  |" in text
    response, error = (
        f"[{name}](/reference/openapi/schemas.md#{name.lower()})" for name in ("Response", "Error")
    )
    assert f"**Responses**: `200` {response}, 4xx and 5xx {error}" in text


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 1000}, "integer (from 1 to 1,000)"),
        ({"type": "string", "maxLength": 64}, "string (at most 64 characters)"),
        ({"enum": ["asc", "desc"]}, '`"asc"`, `"desc"`'),
        ({"const": "x"}, '`"x"`'),
        ({"type": ["string", "null"]}, "string or null"),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, "boolean or null"),
        (
            {"type": "array", "items": {"$ref": "#/components/schemas/Tool"}},
            "array of [Tool](/reference/openapi/schemas.md#tool)",
        ),
        ({"anyOf": [{"$ref": f"#/a/{name}"} for name in "abcdefg"]}, "one of 7 objects"),
        ({}, "any JSON value"),
    ],
)
def test_types_are_words(schema: dict[str, object], text: str) -> None:
    assert pages.type_of(schema) == text


def test_a_pipe_does_not_end_a_cell() -> None:
    assert list(pages.table(("A",), [("a|b",)])) == ["| A |", "|---|", "| a\\|b |", ""]
