"""Whatever an archive or its XML holds: the text is within the limit, or there is a reason why
not.
"""

import io
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.documents.extraction import archive, formats, markup
from antiphon.documents.extraction.output import ExtractionBounds
from antiphon.documents.extraction.pdf import png
from antiphon.documents.extraction.problem import Problem
from tests.support.chance import examples
from tests.support.documents import text_of_all_kinds, zipped

LONGEST = 10_000

NAMES = st.sampled_from(
    [
        "word/document.xml",
        "content.xml",
        "xl/workbook.xml",
        "mimetype",
        "a",
        "xl/_rels/workbook.xml.rels",
    ]
)
XML = st.lists(
    st.sampled_from(
        [
            "<w:p>",
            "</w:p>",
            "<w:t>",
            "</w:t>",
            "<a b='c'>",
            "</a>",
            "<!DOCTYPE a [",
            "<!ENTITY a 'b'>",
            "]>",
            "&a;",
        ]
    )
    | st.text(max_size=5)
).map("".join)


@examples(80)
@given(st.dictionaries(NAMES, XML, max_size=4))
def test_an_archive_of_anything_is_read_or_has_a_reason(files: dict[str, str]) -> None:
    read_or_refused(zipped({name: text.encode("utf-8", "replace") for name, text in files.items()}))


@examples(80)
@given(
    st.sampled_from(list(text_of_all_kinds("Some text").items())),
    st.integers(0, 10_000),
    st.binary(max_size=8),
)
def test_a_document_with_damage_anywhere_is_read_or_has_a_reason(
    file: tuple[str, bytes], place: int, damage: bytes
) -> None:
    name, content = file
    place %= len(content)
    read_or_refused(content[:place] + damage + content[place + len(damage) :], name)


def read_or_refused(content: bytes, name: str = "a.docx") -> None:
    try:
        _, output = formats.read(content, name, ExtractionBounds(LONGEST))
    except Problem as problem:
        assert problem.code in ("invalid_file", "unsupported_file")
        assert problem.message.endswith(".")
    else:
        assert len(output.content()) <= LONGEST
        output.content().decode()


@examples(40)
@given(st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 2**31)), max_size=4))
def test_the_sizes_that_an_archive_announces_are_within_the_limits(
    sizes: list[tuple[int, int]],
) -> None:
    content = announcing(sizes)
    too_large = sum(size for size, _ in sizes) > archive.MOST_BYTES
    too_dense = any(
        size > archive.SMALL and size > archive.MOST_RATIO * max(1, packed)
        for size, packed in sizes
    )
    if too_large or too_dense:
        with pytest.raises(Problem, match="unpacks to more than"):
            archive.opened(content)
    else:
        assert len(archive.opened(content).namelist()) == len(sizes)


def announcing(sizes: list[tuple[int, int]]) -> bytes:
    """An archive whose entries announce these sizes, unpacked and packed."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as opened:
        for number in range(len(sizes)):
            opened.writestr(str(number), b"")
    data = bytearray(content.getvalue())
    place = 0
    for size, packed in sizes:
        place = data.index(b"PK\x01\x02", place)
        data[place + 20 : place + 28] = struct.pack("<II", packed, size)
        place += 4
    return bytes(data)


@pytest.mark.parametrize("levels", [markup.DEEPEST, markup.DEEPEST + 1])
def test_elements_nest_up_to_the_limit(levels: int) -> None:
    seen: list[str] = []
    xml = b"<a>" * levels + b"</a>" * levels
    if levels <= markup.DEEPEST:
        markup.parse([xml], lambda name, _: seen.append(name), seen.append, seen.append)
        assert len(seen) == 2 * levels
    else:
        with pytest.raises(Problem, match="nests more than"):
            markup.parse([xml], lambda name, _: seen.append(name), seen.append, seen.append)


@pytest.mark.parametrize(
    "declaration",
    ["<!ENTITY a 'b'>", "<!ENTITY % a 'b'>", "<!ENTITY a SYSTEM 'file:///etc/passwd'>"],
)
def test_entities_are_refused_where_they_are_declared(declaration: str) -> None:
    xml = f"<!DOCTYPE a [{declaration}]><a>&a;</a>".encode()
    with pytest.raises(Problem, match="declares XML entities"):
        markup.parse([xml], lambda *_: None, lambda _: None, lambda _: None)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_an_image_has_the_form_of_png(channels: int) -> None:
    image = png(bytes(range(64)), 2, 3, 16, channels)
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", image[16:24]) == (2, 3)
