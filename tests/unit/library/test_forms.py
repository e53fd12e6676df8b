"""A form, read again by the server's own parser."""

import io
from pathlib import Path
from typing import Any

import pytest

from antiphon.library.forms import PIECE, FileInput, MultipartForm, form_fields
from antiphon.server.multipart import FormParser, PartHead, boundary_of
from tests.support.cases import each


async def parts_of(form: MultipartForm) -> list[tuple[str, str | None, bytes]]:
    """The parts as the server reads them: name, filename and content."""
    parser = FormParser(boundary_of(form.content_type.encode()))
    found = list[tuple[str, str | None, bytes]]()
    async for piece in form.body():
        for event in parser.feed(piece):
            if isinstance(event, PartHead):
                found.append((event.name, event.filename, b""))
            elif isinstance(event, bytes):
                found[-1] = (*found[-1][:2], found[-1][2] + event)
    parser.finish()
    return found


class Named(io.BytesIO):
    name = "/tmp/notes.md"


@each(
    ("file", "filename", "content"),
    [
        (b"abc", "upload", b"abc"),
        (io.BytesIO(b"abc"), "upload", b"abc"),
        (Named(b"abc"), "notes.md", b"abc"),
        (("a.txt", b"abc"), "a.txt", b"abc"),
        (("a.txt", io.BytesIO(b""), "text/plain"), "a.txt", b""),
        (('a"b\r\nc.txt', b"abc"), 'a"b\r\nc.txt', b"abc"),
        (("größe.txt", b"abc"), "größe.txt", b"abc"),
        (("a.bin", bytes(2 * PIECE + 1)), "a.bin", bytes(2 * PIECE + 1)),
    ],
)
async def test_a_file_arrives_with_its_name_and_its_content(
    file: FileInput, filename: str, content: bytes
) -> None:
    assert await parts_of(MultipartForm({"purpose": "assistants"}, [("file", file)])) == [
        ("purpose", None, b"assistants"),
        ("file", filename, content),
    ]


async def test_a_path_is_read(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"abc")
    assert await parts_of(MultipartForm({}, [("file", tmp_path / "b.txt")])) == [
        ("file", "b.txt", b"abc")
    ]


@each("file", ["text", None, 3, ("a.txt", "text"), {"a": 1}])
def test_what_is_no_file_is_rejected_at_once(file: Any) -> None:
    with pytest.raises(TypeError, match="file"):
        MultipartForm({}, [("file", file)])


async def test_a_file_that_was_opened_for_text_is_rejected() -> None:
    text: Any = io.StringIO("abc")
    with pytest.raises(TypeError, match="rb"):
        await parts_of(MultipartForm({}, [("file", text)]))


async def test_a_media_type_adds_no_header() -> None:
    with pytest.raises(ValueError, match="file"):
        MultipartForm({}, [("file", ("a", b"b", "text/plain\r\nx: y"))])


def test_values_become_text_fields_and_an_object_one_for_each_entry() -> None:
    values = {"prompt": "x", "n": 2, "stream": True, "mask": None, "svg": {"size": 1.5}}
    assert form_fields(values) == {"prompt": "x", "n": "2", "stream": "true", "svg[size]": "1.5"}


@each("value", [["a", "b"], ("a",), b"x", {"inner": ["a"]}])
def test_a_value_without_a_text_is_rejected_by_its_name(value: Any) -> None:
    with pytest.raises(TypeError, match="styles"):
        form_fields({"styles": value})
