"""The options of `code_interpreter` and hosted `shell` tools (hosted tools, sections 6, 7 and
11).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.containers import MEMORY, MemoryLimit
from antiphon.protocol.tools import CodeInterpreterTool, ShellTool, Tool
from antiphon.protocol.validation import refusals

MOST_FILES = 50
"""Files that a tool with an `auto` container can name."""

SMALLEST: MemoryLimit = "1g"
"""The default memory limit of a container."""

_CONTAINER_ID = re.compile(r"[a-zA-Z0-9_-]{1,512}")
_FIELDS = frozenset({"type", "file_ids", "memory_limit", "network_policy", "skills"})
_REFERENCE = frozenset({"type", "container_id"})


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """The container of a tool."""

    container_id: str = ""
    """Empty if the server chooses the container."""
    file_ids: tuple[str, ...] = ()
    """Files that are in the container from its first call on, each once."""
    memory_limit: MemoryLimit = SMALLEST
    network_policy: str = ""
    """As JSON; empty if the request has none."""


def read_options(tool: Tool, memory_max: MemoryLimit = "64g", path: str = "tools") -> CodeOptions:
    """Return the options of the tool at `path` of the request. Raises `ClientError` (400).

    `memory_max` is the largest memory limit that the settings allow.
    """
    if isinstance(tool, CodeInterpreterTool):
        return _of_container(tool.container, memory_max, f"{path}.container")
    if isinstance(tool, ShellTool):
        return _of_environment(tool.environment, memory_max, f"{path}.environment")
    raise refusals.unsupported(path)


def _of_container(
    container: str | Mapping[str, Any], memory_max: MemoryLimit, path: str
) -> CodeOptions:
    if isinstance(container, str):
        return CodeOptions(_checked_id(container, path))
    if container.get("type") is None:
        raise refusals.missing(f"{path}.type")
    if container["type"] != "auto":
        raise refusals.invalid_value(f"{path}.type", str(container["type"]), ["auto"])
    return _auto(container, memory_max, path)


def _of_environment(environment: Any, memory_max: MemoryLimit, path: str) -> CodeOptions:
    if not isinstance(environment, dict):
        raise refusals.unsupported(path)
    kind = environment.get("type")
    if kind == "container_auto":
        return _auto(environment, memory_max, path)
    if kind != "container_reference":
        raise refusals.invalid_value(
            f"{path}.type", str(kind), ["container_auto", "container_reference", "local"]
        )
    for name in environment:
        if name not in _REFERENCE:
            raise refusals.unknown(refusals.below(path, name))
    provided = environment.get("container_id")
    if provided is None:
        raise refusals.missing(f"{path}.container_id")
    if not isinstance(provided, str):
        raise refusals.invalid_type(f"{path}.container_id", ["string"], provided)
    return CodeOptions(_checked_id(provided, f"{path}.container_id"))


def _auto(container: Mapping[str, Any], memory_max: MemoryLimit, path: str) -> CodeOptions:
    for name in container:
        if name not in _FIELDS:
            raise refusals.unknown(refusals.below(path, name))
    if container.get("skills"):
        raise refusals.unsupported(f"{path}.skills")
    _check_network(container.get("network_policy"), f"{path}.network_policy")
    return CodeOptions(
        file_ids=_file_ids(container.get("file_ids"), f"{path}.file_ids"),
        memory_limit=_memory(container.get("memory_limit"), memory_max, f"{path}.memory_limit"),
        network_policy='{"type":"disabled"}' if container.get("network_policy") else "",
    )


def _checked_id(container_id: str, path: str) -> str:
    displayed = f"'{refusals.quoted(container_id)}'"
    if not container_id.startswith("cntr"):
        raise refusals.invalid(path, f"{displayed}. Expected an ID that begins with 'cntr'.")
    if not _CONTAINER_ID.fullmatch(container_id):
        raise refusals.invalid(
            path,
            f"{displayed}. Expected an ID that contains letters, numbers, underscores, or dashes, "
            "but this value contained additional characters.",
        )
    return container_id


def _file_ids(value: Any, path: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise refusals.invalid_type(path, ["array of strings"], value)
    if len(value) > MOST_FILES:
        raise refusals.too_long(path, "array", MOST_FILES, len(value))
    for i, one in enumerate(value):
        if not isinstance(one, str):
            raise refusals.invalid_type(f"{path}[{i}]", ["string"], one)
    return tuple(dict.fromkeys(value))


def _memory(value: Any, most: MemoryLimit, path: str) -> MemoryLimit:
    if value is None:
        return SMALLEST
    if not isinstance(value, str):
        raise refusals.invalid_type(path, ["string"], value)
    wanted = next((name for name in MEMORY if name == value), None)
    if wanted is None:
        raise refusals.invalid_value(path, value, MEMORY)
    if MEMORY[wanted] > MEMORY[most]:
        admitted = [name for name, size in MEMORY.items() if size <= MEMORY[most]]
        raise refusals.unsupported_value(path, value, admitted)
    return wanted


def _check_network(value: Any, path: str) -> None:
    """Raise `ClientError` for every policy except `disabled`: containers here have no network."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise refusals.invalid_type(path, ["object"], value)
    if value.get("type") != "disabled":
        raise _no_network(value.get("type"), f"{path}.type")


def _no_network(kind: Any, path: str) -> ClientError:
    if kind is None:
        return refusals.missing(path)
    return refusals.unsupported_value(path, kind, ["disabled"])
