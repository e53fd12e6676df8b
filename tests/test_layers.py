"""Who may import whom, and which code never waits: the walls that docs/why/design.md draws."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
BASES = {"upstream.backend", "storage.contract", "storage.records", "tools.base"}

ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "ids": set(),
    "stack": set(),
    "version": set(),
    "config": {"errors"},
    "protocol": {"errors", "ids", "stack", "version"},
    "translation": {"protocol"},
    **{base: {"protocol"} for base in BASES},
    "access": {"errors"},
    "telemetry": {"errors"},
    "engine": {"translation", "access", "telemetry"} | BASES,
    "telemetry.otel": {"engine"},
    "storage": {"storage.contract"},
    "storage.contract": {"protocol", "storage.records"},
    "outbound": {"errors", "version"},
    "webhooks": {"engine", "outbound"},
    "upstream": {"upstream.backend"},
    "upstream.discover": {"upstream"},
    "tools": {"tools.base", "outbound"},
    "testing": {"protocol", "storage.contract"},
    "conformance": {"testing"},
    "server": {"engine", "webhooks"},
    "application": {"config", "storage", "telemetry.otel", "webhooks", "upstream", "upstream.discover", "tools"},
    "client": {"application"},
    "translate": {"engine"},
    "cli": {"server", "application", "conformance"},
    "": {"client", "translate"},
    "__main__": {"cli"},
}
"""A room, and the rooms that it may import; what those may import, it may too. A file's room: the longest that fits."""

TECHNOLOGIES = ("upstream", "storage", "tools")
SHARED = {"backend", "base", "contract", "discover", "open", "operations", "records", "scripted", "sql"}
"""Files of such a folder that serve several technologies: every SQL store has operations, the demo follows a script."""

SANS_IO = (
    *("protocol", "translation", "engine.turn", "translate", "storage.operations", "webhooks.sign"),
    *("engine.steps", "engine.hosted", "engine.given"),
    *(
        "telemetry.metrics",
        "conformance.case",
        "conformance.areas",
        "conformance.trial",
        "engine.recall",
        "server.lanes",
        "server.steering",
    ),
    *("server.limits", "server.visitors", "server.inflate"),
    *("engine.caching.key", "engine.caching.kept", "engine.caching.vectors"),
)
OUTSIDE = {
    *("aiohttp", "anyio", "asyncio", "datetime", "http", "os", "random", "secrets", "select", "selectors"),
    *("socket", "ssl", "starlette", "subprocess", "threading", "time", "urllib.request", "uuid", "uvloop"),
}
"""Clocks, chance, sockets and whatever waits for them."""

ASYNCHRONOUS = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)


def module_name(path: Path) -> str:
    """`src/antiphon/storage/contract.py` is `storage.contract`; the package itself is the empty name."""
    parts = path.relative_to(SOURCE / "antiphon").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in (SOURCE / "antiphon").rglob("*.py")}


def imports(code: str) -> Iterator[str]:
    """Every name that the code imports, wherever it does: `from a import b` is `a.b`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def own_imports(code: str) -> set[str]:
    """The modules of ours that the code imports; the package itself is the empty name."""
    names = {name.partition(".")[2] for name in imports(code) if name.partition(".")[0] == "antiphon"}
    return {name if name in MODULES else name.rpartition(".")[0] for name in names}


def room_of(module: str) -> str:
    while module not in ARROWS:
        assert "." in module, f"{module} stands in no room: add it to ARROWS, and to docs/why/design.md"
        module = module.rpartition(".")[0]
    return module


def reach(room: str) -> set[str]:
    """The room's neighbours and all that lies behind them."""
    return ARROWS[room].union(*(reach(neighbour) for neighbour in ARROWS[room]))


def technology(module: str) -> str | None:
    """`storage.sqlite.rows` is part of `storage.sqlite`; `storage.contract` is shared."""
    folder, _, name = module.partition(".")
    kind = name.partition(".")[0].partition("_")[0]
    return f"{folder}.{kind}" if folder in TECHNOLOGIES and kind and kind not in SHARED else None


def trespasses(module: str, code: str) -> list[str]:
    """What the module imports and may not."""
    room, own = room_of(module), technology(module)
    allowed = reach(room) | {room}
    return [
        name
        for name in sorted(own_imports(code))
        if room_of(name) not in allowed or (own and technology(name) not in {None, own})
    ]


def is_asynchronous(node: ast.AST) -> bool:
    return isinstance(node, ASYNCHRONOUS) or (isinstance(node, ast.comprehension) and bool(node.is_async))


def waits(code: str) -> list[str]:
    """Each place where the code awaits, or imports what has a clock, chance or a socket."""
    found = [type(node).__name__ for node in ast.walk(ast.parse(code)) if is_asynchronous(node)]
    return found + [name for name in imports(code) if any(f"{name}.".startswith(f"{out}.") for out in OUTSIDE)]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_file_imports_only_what_lies_below_it(module: str) -> None:
    assert trespasses(module, MODULES[module].read_text()) == []


@pytest.mark.parametrize(
    "module", sorted(name for name in MODULES if f"{name}.".startswith(tuple(f"{s}." for s in SANS_IO)))
)
def test_the_translation_never_waits_and_never_touches_a_clock_or_a_socket(module: str) -> None:
    assert waits(MODULES[module].read_text()) == []


def test_every_import_is_absolute_so_that_these_tests_see_it() -> None:
    relative = {module for module, path in MODULES.items() if any(n.startswith(".") for n in imports(path.read_text()))}
    assert relative == set()


def test_no_arrow_points_back() -> None:
    assert [room for room in ARROWS if room in reach(room)] == []


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("protocol.items.messages", "from antiphon.engine import run"),
        ("translation.writer", "def late():\n    import antiphon.storage.contract"),
        ("engine.run", "from antiphon.storage.sqlite.store import SqliteStore"),
        ("upstream.demo.model", "from antiphon.upstream.http import HttpBackend"),
        ("storage.postgres.store", "from antiphon.storage.sqlite.rows import Act"),
        ("server.app", "from antiphon import Responses"),
        ("server.app", "from antiphon.application import Parts"),
    ],
)
def test_a_wall_holds(module: str, code: str) -> None:
    assert trespasses(module, code) != []


@pytest.mark.parametrize(
    "code",
    [
        "async def f(): ...",
        "import os.path",
        "from time import monotonic",
        "[x async for x in y]",
        "import urllib.request",
    ],
)
def test_waiting_is_seen(code: str) -> None:
    assert waits(code) != []
