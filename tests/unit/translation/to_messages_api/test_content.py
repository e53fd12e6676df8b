"""Content parts of Chat as blocks of the Messages API."""

from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.translation.to_messages_api.content import blocks_of

PNG = "iVBORw0KGgoAAAANSUhEUg=="


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": "high"}}


def file(data: str, name: str = "a.pdf") -> dict[str, Any]:
    return {"type": "file", "file": {"filename": name, "file_data": data}}


def test_an_image_is_sent_as_its_bytes_or_its_url() -> None:
    sent, linked = blocks_of([image(f"data:image/png;base64,{PNG}"), image("https://e.com/a.png")])

    assert sent["source"] == {"type": "base64", "media_type": "image/png", "data": PNG}
    assert linked["source"] == {"type": "url", "url": "https://e.com/a.png"}


def test_an_image_has_the_type_of_its_bytes() -> None:
    (block,) = blocks_of([image(f"data:image/jpeg;base64,{PNG}")])

    assert block["source"]["media_type"] == "image/png"


def test_a_pdf_is_a_document_with_its_name() -> None:
    (block,) = blocks_of([file("data:application/pdf;base64,JVBERi0x")])

    assert (block["type"], block["title"]) == ("document", "a.pdf")
    assert block["source"]["media_type"] == "application/pdf"


def test_a_file_that_is_an_image_is_one() -> None:
    (block,) = blocks_of([file(f"data:application/octet-stream;base64,{PNG}", "a.png")])

    assert block["type"] == "image"


def test_a_marker_of_the_client_stays_at_its_block() -> None:
    marker = {"type": "ephemeral"}

    (block,) = blocks_of([{"type": "text", "text": "Hi", "cache_control": marker}])

    assert block["cache_control"] == marker


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
        {"type": "image_url"},
        {"type": "file", "file": {"file_id": "file-1"}},
        file("data:application/zip;base64,UEsDBA==", "a.zip"),
    ],
)
def test_content_that_the_api_does_not_have_is_refused(part: dict[str, Any]) -> None:
    with pytest.raises(ClientError) as refused:
        blocks_of([part])

    assert refused.value.status == 400
