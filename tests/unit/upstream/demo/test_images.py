"""How `demo` draws."""

import base64
import struct
import zlib
from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.upstream.demo.images import drawn, fields_of, image_for
from antiphon.upstream.demo.painting import COLOURS, paint

TOOL = {"image_generation": {"type": "object", "properties": {"prompt": {}}}}


def pixel(data: bytes, x: int, y: int) -> tuple[int, ...]:
    """The color of a pixel of a PNG that `demo` drew."""
    width, _ = struct.unpack(">II", data[16:24])
    size = int.from_bytes(data[33:37], "big")
    rows = zlib.decompress(data[41 : 41 + size])
    begin = y * (3 * width + 1) + 1 + 3 * x
    return tuple(rows[begin : begin + 3])


@pytest.mark.parametrize("form", ["circle", "triangle", "line", "square"])
def test_a_shape_is_drawn_in_its_color_on_another(form: str) -> None:
    data = paint(f"a red {form} on blue", 64, 32)
    assert (pixel(data, 32, 16), pixel(data, 0, 0)) == (COLOURS["red"], COLOURS["blue"])


def test_the_same_words_draw_the_same_picture_and_others_another() -> None:
    assert paint("a cat") == paint("a cat") != paint("a dog")
    assert pixel(paint("red", 8, 8, 0.5), 4, 7) == COLOURS["grey"]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        *(
            ("Draw a cat.", "generate"),
            ("please paint it", "generate"),
            ("Create an image of a cat", "generate"),
        ),
        *(("Change it to blue", "edit"), ("What is this?", ""), ("The drawer is open", "")),
    ],
)
def test_a_text_that_requests_an_image_becomes_a_call_if_the_tool_is_offered(
    text: str, action: str
) -> None:
    calls = image_for(text, TOOL)
    assert [f'"action": "{action}"' in arguments for _, arguments in calls] == (
        [True] if action else []
    )
    assert image_for(text, {}) == []


def test_a_stream_has_partial_images_and_the_last_one() -> None:
    events: Any = drawn(
        "/images/edits", {"prompt": "x", "stream": True, "partial_images": 2, "size": "9x7"}
    )
    kinds = [event.partition(b"\n")[0] for event in events]
    assert kinds == [b"event: image_edit.partial_image"] * 2 + [b"event: image_edit.completed"]
    plain: Any = drawn("/images/generations", {"prompt": "x", "size": "9x7"})
    assert struct.unpack(">II", base64.b64decode(plain["data"][0]["b64_json"])[16:24]) == (9, 7)


def test_what_makes_no_sense_is_refused() -> None:
    for path, fields in (
        ("/images/generations", {}),
        ("/images/generations", {"prompt": "x", "output_format": "gif"}),
    ):
        with pytest.raises(ClientError):
            drawn(path, fields)
    with pytest.raises(ClientError, match="image"):
        fields_of(
            "/images/edits",
            b'--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nx\r\n--b--',
        )
