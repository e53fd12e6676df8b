"""Documents are read in processes with limits, and the server stays as it was."""

import asyncio
import resource
import struct
from pathlib import Path

import pytest
import uvloop

from antiphon.documents.limits import REQUEST
from antiphon.documents.reader import Document, DocumentError, DocumentReader
from antiphon.sharing.scheduler import FairScheduler
from tests.support.documents import (
    crowd,
    docx,
    docx_bomb,
    entities,
    pdf,
    pdf_bomb,
    text_of_all_kinds,
)
from tests.support.waiting import let_others_run

MEBIBYTE = 1024 * 1024


async def test_a_file_becomes_a_document() -> None:
    found = await DocumentReader().read(pdf("first", "second"), "a.pdf")
    assert found == Document("[Page 1]\nfirst\n\n[Page 2]\nsecond\n\n", 2, is_cut=False, kind="pdf")


@pytest.mark.wide
async def test_every_format_is_read_within_the_limits_of_the_process() -> None:
    reader = DocumentReader()
    for name, content in text_of_all_kinds("Größe 人人生而自由").items():
        assert "人人生而自由" in (await reader.read(content, name)).text


async def test_an_unreadable_file_has_its_reason() -> None:
    with pytest.raises(DocumentError) as raised:
        await DocumentReader().read(pdf("x", encrypted=True), "a.pdf")
    assert (raised.value.code, raised.value.reason) == ("invalid_file", "password")
    assert "protected by a password" in raised.value.message


async def test_pages_become_images_of_the_size_that_is_requested() -> None:
    images = await DocumentReader().pages(pdf("one", "two", "three"), first=1, count=5, pixels=256)
    assert [struct.unpack(">II", image[16:24]) for image in images] == [(181, 256), (181, 256)]
    assert images[0] != images[1]


@pytest.mark.wide
async def test_the_same_page_is_the_same_image() -> None:
    reader = DocumentReader()
    first, second = [
        await reader.pages(pdf("one"), first=0, count=1, pixels=1024) for _ in range(2)
    ]
    assert first == second


@pytest.mark.wide
async def test_a_long_text_is_cut() -> None:
    found = await DocumentReader().read(b"word " * (REQUEST.longest // 5 + 1), "a.txt")
    assert (len(found.text), found.is_cut) == (REQUEST.longest, True)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("bomb", "words"),
    [
        (
            lambda: pdf_bomb(900 * MEBIBYTE),
            "Reading the file needs more than 600 MB of memory|contains no text",
        ),
        (lambda: docx_bomb(300 * MEBIBYTE), "unpacks to more than 200 times its size"),
        (entities, "declares XML entities"),
        (
            lambda: docx(body="<w:p>" * 1_000_000),
            "nests more than 500 elements|unpacks to more than",
        ),
        (lambda: crowd(150_000), "more than 5,000 files"),
    ],
    ids=["pdf", "docx", "entities", "deep", "crowd"],
)
async def test_a_bomb_leaves_the_memory_of_the_server_as_it_was(bomb: object, words: str) -> None:
    assert callable(bomb)
    content = bomb()
    before = memory()
    with pytest.raises(DocumentError, match=words) as raised:
        await DocumentReader().read(content, "")
    assert raised.value.code == "invalid_file"
    assert memory() - before < 100 * MEBIBYTE


def memory() -> int:
    """The bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def test_a_file_that_takes_too_long_is_abandoned() -> None:
    with pytest.raises(DocumentError, match="took longer"):
        await DocumentReader(seconds=0.001).read(b"x", "a.txt")


async def test_more_files_than_may_wait_are_refused_as_busy() -> None:
    turns = FairScheduler(1, 0)
    await turns.enter()
    with pytest.raises(DocumentError, match="Too many files") as raised:
        await DocumentReader(turns).read(b"x", "a.txt")
    assert raised.value.reason == "busy"


async def test_the_wait_for_a_turn_is_not_counted() -> None:
    turns = FairScheduler(1, 10)
    await turns.enter()
    reading = asyncio.create_task(DocumentReader(turns, seconds=30.0).read(b"read", "a.txt"))
    await let_others_run()
    turns.leave()
    assert (await reading).text == "read"


def test_a_file_is_read_on_the_loop_of_the_server() -> None:
    assert uvloop.run(DocumentReader().read(b"read", "a.txt")).text == "read"


@pytest.mark.parametrize("name", ["a.txt\n{}", '"', "\0", "\ud800"])
async def test_a_name_is_only_a_name(name: str) -> None:
    assert (await DocumentReader().read(b"read", name)).text == "read"


@pytest.mark.parametrize(
    "code",
    [
        "print('{}')",
        "print('no JSON')",
        "print(1)",
        "pass",
        "import sys; sys.stdout.buffer.write(b'{\"pages\":0}\\n\\xff')",
    ],
)
async def test_a_process_that_was_taken_over_can_only_make_its_own_file_fail(code: str) -> None:
    reader = DocumentReader(program=("-c", code))
    with pytest.raises(DocumentError) as raised:
        await reader.read(b"x", "a.txt")
    assert raised.value.code == "invalid_file"
    with pytest.raises(DocumentError) as raised:
        await reader.pages(b"x", first=0, count=1, pixels=9)
    assert raised.value.code == "invalid_file"
