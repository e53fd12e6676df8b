"""References to images that are kept in blobs."""

import base64

import msgspec
import pytest

from antiphon.protocol.events import ResponseOutputItemDoneEvent
from antiphon.protocol.items.hosted import ImageGenerationCall
from antiphon.protocol.stored_images import (
    PIECE,
    StoredImage,
    as_base64,
    as_logged,
    as_stored,
    note_stored,
    stored_image_of,
    usage_of,
)

RETAINED = StoredImage("row_1", 12, (1, 2, 3, 4, 5, 6))


def created() -> ImageGenerationCall:
    item = ImageGenerationCall(id="ig_1", status="completed", result="aGk=")
    note_stored(item, RETAINED)
    return item


def test_a_client_sees_the_image_and_the_store_its_reference() -> None:
    item = created()
    stored, saved = as_stored(item)
    assert b"row_1" not in msgspec.json.encode(item)
    assert saved == stored_image_of(stored)  # type: ignore[arg-type]
    assert b'"result":"kept:row_1:12:1,2,3,4,5,6"' in msgspec.json.encode(stored)
    assert b"aGk=" not in msgspec.json.encode(
        as_logged(ResponseOutputItemDoneEvent(output_index=0, item=item))
    )


def test_an_image_that_is_in_no_store_stays_in_its_item() -> None:
    item = ImageGenerationCall(id="ig_1", status="completed", result="aGk=")
    assert as_stored(item) == (item, None)
    note_stored(item, StoredImage("", 2))
    assert as_stored(item) == (item, None)


def test_a_reference_is_read_as_it_was_written() -> None:
    found = StoredImage.read(RETAINED.reference)
    assert found is not None
    assert (found.blob, found.size, tuple(found.usage)) == ("row_1", 12, (1, 2, 3, 4, 5, 6))


@pytest.mark.parametrize(
    "text", [None, 7, "", "aGk=", "kept:", "kept:a:b:c", "kept:a:1:1,2", "kept:a:-1:1,2,3,4,5,6"]
)
def test_anything_else_is_no_reference(text: object) -> None:
    assert StoredImage.read(text) is None


def test_tokens_are_summed_up_as_the_api_shows_them() -> None:
    assert usage_of([created(), created()]) == {
        "input_tokens": 2,
        "input_tokens_details": {"image_tokens": 4, "text_tokens": 6},
        "output_tokens": 8,
        "output_tokens_details": {"image_tokens": 10, "text_tokens": 12},
        "total_tokens": 10,
    }
    assert usage_of([ImageGenerationCall(id="ig_1", result="aGk=")]) is None


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 2])
def test_base64_in_pieces_is_base64(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    assert as_base64(data[:size]) == base64.b64encode(data[:size]).decode()
