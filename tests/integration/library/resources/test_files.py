"""Files, vector stores and containers of both clients, in this process."""

import io
from pathlib import Path
from typing import Any

import pytest

from antiphon import (
    Antiphon,
    AsyncAntiphon,
    BadRequestError,
    NotFoundError,
    UnprocessableEntityError,
    types,
)
from antiphon.library.forms import PIECE

TIDES = b"High tide is at noon."


def test_a_file_is_stored_listed_read_and_deleted(client: Antiphon, tmp_path: Path) -> None:
    file = client.files.create(file=("tides.txt", TIDES), purpose="user_data")

    assert (file.filename, file.bytes, file.purpose) == ("tides.txt", len(TIDES), "user_data")
    assert client.files.retrieve(file.id) == file
    assert client.files.list(purpose="user_data").data == [file]
    content = client.files.content(file.id)
    content.write_to_file(tmp_path / "copy.txt")
    assert (content.read(), content.text) == (TIDES, TIDES.decode())
    assert (tmp_path / "copy.txt").read_bytes() == TIDES
    assert client.files.delete(file.id).deleted
    with pytest.raises(NotFoundError) as removed:
        client.files.retrieve(file.id)
    assert removed.value.status_code == 404


class Watched(io.BytesIO):
    """A file that remembers how many bytes were read at once."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.sizes = list[int | None]()

    def read(self, size: int | None = -1, /) -> bytes:
        self.sizes.append(size)
        return super().read(size)


def test_a_large_file_is_read_in_pieces(client: Antiphon) -> None:
    whole = Watched(bytes(range(256)) * 8192)
    file = client.files.create(file=whole, purpose="assistants")
    assert client.files.content(file.id).content == whole.getvalue()
    assert whole.sizes == [PIECE] * (len(whole.getvalue()) // PIECE + 1)


def test_a_file_that_cannot_be_read_raises_its_own_error_and_is_not_stored(
    client: Antiphon, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        client.files.create(file=tmp_path / "none.txt", purpose="user_data")
    assert client.files.list().data == []


def test_a_call_without_its_file_names_the_parameter(client: Antiphon) -> None:
    calls: Any = client
    with pytest.raises(TypeError, match="file"):
        calls.files.create(purpose="user_data")
    with pytest.raises(TypeError, match="image"):
        calls.images.edit(prompt="x", model="demo")


def test_an_invalid_purpose_names_its_parameter(client: Antiphon) -> None:
    with pytest.raises(BadRequestError) as wrong:
        client.files.create(file=b"x", purpose="none")  # type: ignore[arg-type]  # which is what this tests
    assert wrong.value.param == "purpose"
    assert wrong.value.request_id is not None


def test_iterating_a_list_continues_with_the_next_pages(client: Antiphon) -> None:
    created = [
        client.files.create(file=(f"{name}.txt", b"x"), purpose="user_data").id for name in "abc"
    ]
    page = client.files.list(limit=2, order="asc")
    assert ([one.id for one in page.data], page.has_more) == (created[:2], True)
    assert [one.id for one in page] == created


async def test_a_coroutine_lists_all_pages_too(coroutines: AsyncAntiphon) -> None:
    created = [
        (await coroutines.files.create(file=(f"{name}.txt", b"x"), purpose="user_data")).id
        for name in "abc"
    ]
    assert [one.id async for one in coroutines.files.list(limit=2, order="asc")] == created
    assert (await coroutines.files.list(limit=2, order="desc")).data[0].id == created[-1]


@pytest.mark.wide
def test_a_vector_store_search_finds_the_content_of_its_files(client: Antiphon) -> None:
    store = client.vector_stores.create(name="tides", metadata={"sea": "north"})
    attached = client.vector_stores.files.upload_and_poll(
        vector_store_id=store.id, file=("tides.txt", TIDES), attributes={"year": 2026}
    )
    found = client.vector_stores.search(store.id, query="high tide", filters=None)

    assert (attached.status, attached.attributes) == ("completed", {"year": 2026})
    assert [(one.filename, one.content[0].text) for one in found] == [("tides.txt", TIDES.decode())]
    assert found.search_query == ["high tide"]
    (listed,) = client.vector_stores.files.list(store.id)
    assert listed.id == attached.id
    assert (
        client.vector_stores.files.content(attached.id, vector_store_id=store.id).data[0].text
        == TIDES.decode()
    )
    changed = client.vector_stores.files.update(
        attached.id, vector_store_id=store.id, attributes=None
    )
    assert changed.attributes == {}
    assert client.vector_stores.files.delete(attached.id, vector_store_id=store.id).deleted
    assert client.files.retrieve(attached.id).filename == "tides.txt"


@pytest.mark.wide
async def test_a_batch_uploads_and_waits(coroutines: AsyncAntiphon) -> None:
    store = await coroutines.vector_stores.create(name="tides")
    files: list[tuple[str, bytes]] = [("a.txt", b"ebb"), ("b.txt", b"flow")]
    batch = await coroutines.vector_stores.file_batches.upload_and_poll(
        store.id, files=files, poll_interval_ms=1
    )

    assert (batch.status, batch.file_counts.completed) == ("completed", 2)
    listed = coroutines.vector_stores.file_batches.list_files(batch.id, vector_store_id=store.id)
    assert len([one async for one in listed]) == 2
    assert (
        await coroutines.vector_stores.file_batches.retrieve(batch.id, vector_store_id=store.id)
        == batch
    )


def test_none_removes_what_an_absent_parameter_leaves(client: Antiphon) -> None:
    store = client.vector_stores.create(name="tides", metadata={"sea": "north"})
    client.vector_stores.update(store.id, name="ebb")
    assert client.vector_stores.retrieve(store.id).metadata == {"sea": "north"}
    assert client.vector_stores.update(store.id, name=None).name in {None, ""}
    assert [one.id for one in client.vector_stores.list()] == [store.id]
    assert client.vector_stores.delete(store.id).deleted


def test_a_container_has_files_of_its_own(client: Antiphon) -> None:
    container = client.containers.create(
        name="sums", expires_after={"anchor": "last_active_at", "minutes": 5}
    )
    copied = client.files.create(file=("a.csv", b"1,2"), purpose="user_data")
    uploaded = client.containers.files.create(container.id, file=("b.csv", b"3,4"))
    client.containers.files.create(container.id, file_id=copied.id)

    assert container.expires_after is not None
    assert container.expires_after.minutes == 5
    assert len(client.containers.files.list(container.id).data) == 2
    assert (
        client.containers.files.content.retrieve(uploaded.id, container_id=container.id).content
        == b"3,4"
    )
    assert client.containers.files.retrieve(uploaded.id, container_id=container.id) == uploaded
    assert client.containers.files.delete(uploaded.id, container_id=container.id).deleted
    assert [one.id for one in client.containers.list(name="sums")] == [container.id]
    assert client.containers.retrieve(container.id).name == "sums"
    assert client.containers.delete(container.id).deleted


def test_a_container_takes_a_file_or_the_id_of_one(client: Antiphon) -> None:
    with pytest.raises(TypeError, match="file_id"):
        client.containers.files.create("cntr_1")
    with pytest.raises(TypeError, match="file_id"):
        client.containers.files.create("cntr_1", file=b"x", file_id="file-1")


def test_an_empty_id_never_means_the_whole_list(client: Antiphon) -> None:
    with pytest.raises(ValueError, match="id"):
        client.files.retrieve("")
    with pytest.raises(NotFoundError):
        client.files.retrieve("../models")


def test_a_retry_with_the_same_idempotency_key_creates_one_file(client: Antiphon) -> None:
    once = {"Idempotency-Key": "upload-1"}
    first = client.files.create(file=("a.txt", b"x"), purpose="user_data", extra_headers=once)
    assert (
        client.files.create(file=("a.txt", b"x"), purpose="user_data", extra_headers=once) == first
    )
    with pytest.raises(UnprocessableEntityError):
        client.files.create(file=("a.txt", b"y"), purpose="user_data", extra_headers=once)
    assert len(client.files.list().data) == 1
    assert isinstance(first, types.FileObject)
