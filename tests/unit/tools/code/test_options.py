"""The container of a tool, and how wrong fields are refused."""

from typing import Any

import pytest
from msgspec import convert

from antiphon.errors import ClientError
from antiphon.protocol.tools import CodeInterpreterTool, FileSearchTool, ShellTool
from antiphon.tools.code.options import MOST_FILES, CodeOptions, read_options


def code(container: Any) -> CodeOptions:
    tool = convert({"type": "code_interpreter", "container": container}, CodeInterpreterTool)
    return read_options(tool, "4g", "tools[0]")


def shell(environment: Any) -> CodeOptions:
    return read_options(
        convert({"type": "shell", "environment": environment}, ShellTool), "4g", "tools[0]"
    )


def test_absent_fields_have_the_defaults_of_the_api() -> None:
    nulls = {"file_ids": None, "memory_limit": None, "network_policy": None, "skills": None}

    assert (
        code({"type": "auto"})
        == code({"type": "auto", **nulls})
        == shell({"type": "container_auto"})
        == CodeOptions()
    )


def test_every_field_is_read() -> None:
    fields = {
        "file_ids": ["file-1", "file-2", "file-1"],
        "memory_limit": "4g",
        "network_policy": {"type": "disabled"},
    }
    expected = CodeOptions("", ("file-1", "file-2"), "4g", '{"type":"disabled"}')

    assert (
        code({"type": "auto", **fields}) == shell({"type": "container_auto", **fields}) == expected
    )


def test_a_container_by_id_is_the_same_for_both_tools() -> None:
    reference = {"type": "container_reference", "container_id": "cntr_1"}

    assert code("cntr_1") == shell(reference) == CodeOptions("cntr_1")


@pytest.mark.parametrize(
    ("container", "param", "words"),
    [
        ({}, "container.type", "Missing required parameter"),
        ({"type": "manual"}, "container.type", "'manual'"),
        ({"type": "auto", "size": 1}, "container.size", "Unknown parameter"),
        (
            {"type": "auto", "file_ids": "file-1"},
            "container.file_ids",
            "expected an array of strings",
        ),
        ({"type": "auto", "file_ids": [1]}, "container.file_ids[0]", "expected a string"),
        ({"type": "auto", "file_ids": ["f"] * (MOST_FILES + 1)}, "container.file_ids", "too long"),
        ({"type": "auto", "memory_limit": 1}, "container.memory_limit", "expected a string"),
        ({"type": "auto", "memory_limit": "2g"}, "container.memory_limit", "'2g'"),
        (
            {"type": "auto", "memory_limit": "16g"},
            "container.memory_limit",
            "Supported values are: '1g' and '4g'.",
        ),
        (
            {"type": "auto", "network_policy": "none"},
            "container.network_policy",
            "expected an object",
        ),
        (
            {"type": "auto", "network_policy": {}},
            "container.network_policy.type",
            "Missing required parameter",
        ),
        (
            {
                "type": "auto",
                "network_policy": {"type": "allowlist", "allowed_domains": ["a.example"]},
            },
            "container.network_policy.type",
            "Supported values are: 'disabled'.",
        ),
        (
            {"type": "auto", "skills": [{"type": "skill_reference"}]},
            "container.skills",
            "not supported by this server",
        ),
        ("file-1", "container", "begins with 'cntr'"),
        ("cntr_1/..", "container", "additional characters"),
    ],
)
def test_wrong_containers_are_refused_by_their_path(container: Any, param: str, words: str) -> None:
    with pytest.raises(ClientError, match=words) as refused:
        code(container)

    assert (refused.value.status, refused.value.param) == (400, f"tools[0].{param}")


@pytest.mark.parametrize(
    ("environment", "param"),
    [
        ({"type": "docker"}, "environment.type"),
        ({"type": "container_reference"}, "environment.container_id"),
        ({"type": "container_reference", "container_id": 1}, "environment.container_id"),
        ({"type": "container_reference", "container_id": "cntr_1", "size": 1}, "environment.size"),
        ({"type": "container_auto", "memory_limit": "64g"}, "environment.memory_limit"),
        (None, "environment"),
    ],
)
def test_wrong_environments_are_refused_by_their_path(environment: Any, param: str) -> None:
    with pytest.raises(ClientError) as refused:
        read_options(ShellTool(environment=environment), "4g", "tools[0]")

    assert (refused.value.status, refused.value.param) == (400, f"tools[0].{param}")


def test_other_tools_have_no_container() -> None:
    with pytest.raises(ClientError, match="not supported by this server"):
        read_options(FileSearchTool(vector_store_ids=["vs_1"]))
