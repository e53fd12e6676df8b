"""Bodies of requests to `/vector_stores`: what is taken, and the error for what is not."""

import json
from typing import Any

import pytest
from msgspec import UNSET

from antiphon.errors import ClientError
from antiphon.protocol.validation.vector_stores import (
    check_id,
    decode_attach_file,
    decode_create_batch,
    decode_create_vector_store,
    decode_search,
    decode_store_files_query,
    decode_update_vector_store,
)


def body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def static(size: int, overlap: int) -> dict[str, Any]:
    return {
        "type": "static",
        "static": {"max_chunk_size_tokens": size, "chunk_overlap_tokens": overlap},
    }


def test_an_empty_body_creates_a_store() -> None:
    assert decode_create_vector_store(b"").name is None


def test_what_an_update_does_not_name_is_unset_and_null_is_null() -> None:
    request = decode_update_vector_store(body(name=None))
    assert (request.name, request.metadata, request.expires_after) == (None, UNSET, UNSET)


@pytest.mark.parametrize(("size", "overlap"), [(100, 0), (100, 50), (4096, 2048)])
def test_an_overlap_of_up_to_half_of_a_chunk_is_taken(size: int, overlap: int) -> None:
    request = decode_attach_file(body(file_id="file-1", chunking_strategy=static(size, overlap)))
    assert request.chunking_strategy is not None


@pytest.mark.parametrize(
    ("size", "overlap", "param"),
    [
        (99, 0, "max_chunk_size_tokens"),
        (4097, 0, "max_chunk_size_tokens"),
        (100, 51, "chunk_overlap_tokens"),
        (101, 51, "chunk_overlap_tokens"),
        (800, -1, "chunk_overlap_tokens"),
    ],
)
def test_sizes_beyond_their_bounds_are_refused_with_their_place(
    size: int, overlap: int, param: str
) -> None:
    files = [
        {"file_id": "file-1"},
        {"file_id": "file-2", "chunking_strategy": static(size, overlap)},
    ]
    for decode, provided, path in (
        (decode_attach_file, {"file_id": "file-1", "chunking_strategy": static(size, overlap)}, ""),
        (
            decode_create_vector_store,
            {"file_ids": ["file-1"], "chunking_strategy": static(size, overlap)},
            "",
        ),
        (decode_create_batch, {"files": files}, "files[1]."),
    ):
        with pytest.raises(ClientError) as refused:
            decode(body(**provided))  # type: ignore[operator]
        assert refused.value.param == f"{path}chunking_strategy.static.{param}"


@pytest.mark.parametrize(
    "provided", [{}, {"file_ids": []}, {"file_ids": ["a"], "files": [{"file_id": "a"}]}]
)
def test_a_batch_has_files_in_one_of_two_ways(provided: dict[str, Any]) -> None:
    with pytest.raises(ClientError):
        decode_create_batch(body(**provided))
    assert decode_create_batch(body(file_ids=["a"])).file_ids == ["a"]


@pytest.mark.parametrize("query", ["", "  ", [], ["a", ""], ["a"] * 11, "a" * 8001, 1, None])
def test_an_empty_or_too_long_query_is_refused(query: Any) -> None:
    with pytest.raises(ClientError) as refused:
        decode_search(body(query=query))
    assert str(refused.value.param).startswith("query")


def test_a_status_filters_a_list_of_files() -> None:
    assert decode_store_files_query({"filter": ["failed"], "limit": ["7"]}).filter == "failed"
    with pytest.raises(ClientError):
        decode_store_files_query({"filter": ["done"]})


@pytest.mark.parametrize("name", ["vs_1", "vs_a-B_c"])
def test_an_id_of_the_form_is_returned(name: str) -> None:
    assert check_id(name, "vector_store_id", "vs") == name


@pytest.mark.parametrize("name", ["", "vs", "vsfb_1", "file-1", "vs_ü", "vs_a b"])
def test_an_id_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(ClientError) as refused:
        check_id(name, "vector_store_id", "vs")
    assert (refused.value.status, refused.value.param, refused.value.code) == (
        400,
        "vector_store_id",
        "invalid_value",
    )
