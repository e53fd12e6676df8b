"""Bodies of requests to `/containers`, and the paths of files that clients bring."""

import json
from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.protocol.containers import path_in_container
from antiphon.protocol.validation.containers import (
    decode_containers_query,
    decode_copy_file,
    decode_create_container,
)

ID = "f" * 32


def body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def test_a_name_is_all_that_a_container_needs() -> None:
    request = decode_create_container(body(name="work"))
    assert (request.name, request.memory_limit, request.expires_after, request.file_ids) == (
        "work",
        None,
        None,
        None,
    )


def test_a_disabled_network_and_no_skills_are_taken() -> None:
    request = decode_create_container(
        body(name="n", network_policy={"type": "disabled"}, skills=[])
    )
    assert request.network_policy is not None


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        (
            {"expires_after": {"anchor": "last_active_at"}},
            "expires_after.minutes",
            "missing_required_parameter",
        ),
        (
            {"expires_after": {"anchor": "last_active_at", "minutes": 10_081}},
            "expires_after.minutes",
            "integer_above_max_value",
        ),
        ({"file_ids": ["file-1"] * 101}, "file_ids", "array_above_max_length"),
        ({"file_ids": ["a\0"]}, "file_ids[0]", "invalid_value"),
        ({"network_policy": {"type": "none"}}, "network_policy.type", "invalid_value"),
        ({"name": "n" * 257}, "name", "string_above_max_length"),
    ],
)
def test_a_field_beyond_its_bounds_is_refused_with_its_place(
    fields: dict[str, Any], param: str, code: str
) -> None:
    with pytest.raises(ClientError) as error:
        decode_create_container(body(**{"name": "n", **fields}))
    assert (error.value.param, error.value.code) == (param, code)


def test_a_file_is_copied_by_its_id_alone() -> None:
    assert decode_copy_file(body(file_id="file-1")).file_id == "file-1"
    with pytest.raises(ClientError, match="Unknown parameter: 'name'"):
        decode_copy_file(body(file_id="file-1", name="a"))


def test_a_page_of_containers_is_of_twenty_newest_first() -> None:
    query = decode_containers_query({})
    assert (query.limit, query.order, query.after, query.name) == (20, "desc", None, None)


@pytest.mark.parametrize(
    ("filename", "path"),
    [
        ("data.csv", f"/mnt/data/{ID}-data.csv"),
        ("no ending", f"/mnt/data/{ID}-no ending"),
        ("a/b", f"/mnt/data/{ID}-a_b"),
        ("é" * 200 + ".tar.gz", f"/mnt/data/{ID}-{'é' * 109}.gz"),
        ("x" * 300, f"/mnt/data/{ID}-{'x' * 222}"),
        ("." + "y" * 255, f"/mnt/data/{ID}-.{'y' * 221}"),
    ],
)
def test_a_path_is_one_name_of_at_most_255_bytes_with_its_extension(
    filename: str, path: str
) -> None:
    assert path_in_container(ID, filename) == path
    assert len(path.removeprefix("/mnt/data/").encode()) <= 255
