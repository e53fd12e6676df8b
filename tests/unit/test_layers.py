"""Who may import whom, and which code never waits: the walls that docs/why/design.md draws."""

import ast
import re
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.cases import each

SOURCE = Path(__file__).parents[2] / "src"
BASES = {"upstream.backend", "storage.records", "tools.base", "sandbox.contract"}

ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "packages": {"errors"},
    "extras": {"packages"},
    "ids": set(),
    "periodic": {"errors"},
    "sizes": set(),
    "stack": set(),
    "verifier": {"packages"},
    "version": set(),
    "sharing": {"packages", "sizes"},
    "config": {"errors"},
    "protocol": {"extras", "ids", "sizes", "stack", "version"},
    "translation": {"protocol"},
    **{base: {"protocol"} for base in BASES},
    "query": {"protocol"},
    "query.matching": {"query", "storage.records"},
    "search": {"protocol"},
    "storage.records": {"query", "search"},
    "storage.changes": set(),
    "storage.operations": {
        "protocol",
        "search",
        "sharing",
        "storage.changes",
        "storage.records",
    },
    "storage.clock": {"ids"},
    "storage.act": {"storage.clock", "storage.operations"},
    "storage.terms": {"storage.operations"},
    "storage.store": {"storage.act", "storage.terms"},
    "storage.answers": {"storage.store"},
    "storage.chunk_writer": {"storage.store"},
    "storage.containers": {"storage.store"},
    "storage.input_pages": {"storage.store"},
    "storage.notifications": {"storage.store"},
    "storage.probe": {"storage.store"},
    "storage.upkeep": {"storage.chunk_writer"},
    "storage.blobs.base": {"storage.records"},
    "storage": {"storage.store", "storage.blobs.base", "sharing"},
    "outbound": {"extras", "sharing", "version"},
    "documents.extraction": set(),
    "documents": {"sharing", "documents.extraction"},
    "upstream": {"upstream.backend", "translation", "sharing", "periodic"},
    "sandbox": {"sandbox.contract", "outbound", "sharing"},
    "tools": {
        "tools.base",
        "outbound",
        "periodic",
        "documents",
        "search",
        "sandbox.contract",
        "storage.containers",
    },
    "tools.registry": {"tools.base"},
    "telemetry.context": {"errors"},
    "telemetry.formatters": {"telemetry.context"},
    "status.agent_status": {"storage.records"},
    "status.code_status": set(),
    "status.upkeep": set(),
    "telemetry": {
        "telemetry.formatters",
        "upstream",
        "status.agent_status",
        "status.code_status",
        "status.upkeep",
        "storage.store",
    },
    "retrieval": {"search", "sharing", "storage.store", "telemetry", "upstream"},
    "access.keyring": {"packages"},
    "access": {"access.keyring", "upstream", "storage.store"},
    "cache": {"access", "telemetry", "storage.answers", "storage.upkeep"},
    "forwarding": {"access", "telemetry"},
    "recording.checkpoints": {"protocol"},
    "runs.tool_policy": {"tools.registry", "translation"},
    "runs.steps": {"recording.checkpoints", "runs.tool_policy"},
    "history": {
        "access",
        "cache",
        "documents",
        "runs.steps",
        "storage.blobs.base",
        "storage.store",
    },
    "status": {
        "history",
        "status.agent_status",
        "status.code_status",
        "status.upkeep",
        "storage.store",
        "storage.probe",
        "upstream",
    },
    "process": {"storage.notifications"},
    "recording": {"forwarding", "history", "process", "telemetry"},
    "runs": {"recording", "search"},
    "webhooks": {"outbound", "storage.store"},
    "objects": {"recording", "storage.containers", "storage.input_pages", "webhooks"},
    "console": {"objects", "query.matching", "runs"},
    "jobs": {"objects", "runs", "status.upkeep"},
    "agents": {"jobs"},
    "gateway": {"console", "jobs", "status"},
    "http_server": set(),
    "server": {"gateway", "http_server"},
    "build": {"agents", "config", "gateway", "retrieval", "sandbox", "storage", "tools"},
    "build.hosting": {"server", "build"},
    "library": {"build.hosting"},
    "types": {"protocol"},
    "translate": {"runs"},
    "testing": {"sandbox.contract", "verifier"},
    "testing.agents": {"library"},
    "testing.verify_agent": {"agents"},
    "trust": {"verifier", "version"},
    "cli": {"build.hosting", "trust", "verifier"},
    "": {"library", "translate", "types"},
    "__main__": {"cli"},
}
"""A room, and the rooms that it may import; what those may import, it may too. A file's room: the
longest that fits.
"""

FACADES = {"translation": {"protocol", "translation", "translate"}}
"""Packages that offer names of other rooms too, each loaded at its first use. Nothing of ours
imports the package.
"""

BY_THE_GATEWAY = {
    "server": {
        "gateway",
        "objects",
        "http_server",
        "protocol",
        "errors",
        "ids",
        "sharing",
        "sizes",
        "version",
        "telemetry",
    },
    "library": {
        *("gateway", "protocol", "config", "build", "errors", "http_server", "ids", "server"),
        *("agents", "sizes", "upstream.backend"),
    },
}
"""Rooms that enter the core by the gateway alone, and all that they may name themselves, whatever
lies behind it.
"""

TECHNOLOGIES = ("storage", "tools")
SHARED = {
    *(
        "act",
        "base",
        "changes",
        "later",
        "notifications",
        "open",
        "operations",
        "records",
        "registry",
    ),
    *("chunk", "clock", "containers", "large", "schema", "sql", "store", "terms"),
}
"""Files of such a folder that serve several technologies: every SQL store has operations."""

SANS_IO = (
    *("protocol", "translation", "translate", "storage.operations", "webhooks.sign"),
    *("telemetry.metrics", "telemetry.kinds", "telemetry.requests", "telemetry.exposition"),
    *(
        "runs.phases",
        "runs.plan",
        "runs.echoed_tools",
        "runs.request_builder",
        "runs.turn",
        "runs.agentic_turn",
        "runs.steps",
    ),
    *("runs.refusals", "runs.simplified"),
    *("runs.tool_policy", "runs.provenance", "runs.corrections", "runs.loops", "history.truncate"),
    *("upstream.probing.answers", "upstream.probing.consent", "upstream.probing.descriptions"),
    *(
        "upstream.probing.findings",
        "upstream.probing.measurement",
        "upstream.probing.schema_probes",
        "upstream.probing.probes",
        "upstream.probing.window",
    ),
    *("upstream.http1.filters", "upstream.http1.origin", "upstream.http1.response"),
    "query",
    *("cache.key", "cache.cached_answer", "cache.vectors"),
    *("search.bm25", "search.chunking", "search.filters", "search.fitting", "search.fusion"),
    *("search.index_terms", "search.passages", "search.terms", "search.vectors"),
    "cli.launching.clients",
    *("server.limits", "server.inflate"),
    *("library.parameters", "library.reading"),
    *("server.websocket.lanes", "server.websocket.steering", "server.websocket.session_memory"),
)
SANS_IO_OF_VERIFY = ("case", "areas", "replies", "trial", "events")
"""Modules and packages of `antiphon_verify` that never wait either."""

USERS_OF_VERIFY = {"cli.verify", "testing"}
"""All that may name `antiphon_verify`, which need not be installed: a command, and names for its
checks.
"""

OUTSIDE = {
    *(
        "aiohttp",
        "anyio",
        "asyncio",
        "datetime",
        "http",
        "os",
        "random",
        "secrets",
        "select",
        "selectors",
    ),
    *(
        "socket",
        "ssl",
        "starlette",
        "subprocess",
        "threading",
        "time",
        "urllib.request",
        "uuid",
        "uvloop",
    ),
}
"""Clocks, chance, sockets and whatever waits for them."""

ASYNCHRONOUS = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)


def modules_of(package: Path) -> dict[str, Path]:
    """The files of a package: `storage/store.py` is `storage.store`; the package itself is the
    empty name.
    """
    return {module_name(path, package): path for path in package.rglob("*.py")}


def module_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = modules_of(SOURCE / "antiphon")
VERIFY = modules_of(SOURCE.parent / "verify/src/antiphon_verify")


@cache
def imports(code: str) -> frozenset[str]:
    """Every name that the code imports, wherever it does: `from a import b` is `a.b`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(
                f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names
            )
    return frozenset(names)


def own_imports(code: str) -> set[str]:
    """The modules of ours that the code imports; the package itself is the empty name."""
    return imports_of("antiphon", MODULES, code)


def imports_of(package: str, modules: Mapping[str, Path], code: str) -> set[str]:
    """The modules of a package that the code imports."""
    names = {name.partition(".")[2] for name in imports(code) if name.partition(".")[0] == package}
    return {name if name in modules else name.rpartition(".")[0] for name in names}


def strangers(code: str, package: str) -> list[str]:
    """What the code imports of a package, with the dotted names of `import_module`."""
    if not re.search(rf"\b{package}\b", code):  # most files, and none of these has to be parsed
        return []
    texts = {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)}
    named = {text for text in texts if isinstance(text, str) and text.startswith(f"{package}.")}
    return sorted(name for name in imports(code) | named if name.partition(".")[0] == package)


def room_of(module: str) -> str:
    while module not in ARROWS:
        assert "." in module, (
            f"{module} stands in no room: add it to ARROWS, and to docs/why/design.md"
        )
        module = module.rpartition(".")[0]
    return module


def reach(room: str) -> set[str]:
    """The room's neighbours and all that lies behind them."""
    return ARROWS[room].union(*(reach(neighbour) for neighbour in ARROWS[room]))


def technology(module: str) -> str | None:
    """`storage.sqlite.rows` is part of `storage.sqlite`; `storage.store` is shared."""
    folder, _, name = module.partition(".")
    kind = name.partition(".")[0].partition("_")[0]
    return f"{folder}.{kind}" if folder in TECHNOLOGIES and kind and kind not in SHARED else None


def trespasses(module: str, code: str) -> list[str]:
    """What the module imports and may not."""
    room = room_of(module)
    own = technology(module)
    allowed = FACADES.get(module) or reach(room) | {room}
    return [
        name
        for name in sorted(own_imports(code))
        if room_of(name) not in allowed or (own and technology(name) not in {None, own})
    ]


def is_asynchronous(node: ast.AST) -> bool:
    return isinstance(node, ASYNCHRONOUS) or (
        isinstance(node, ast.comprehension) and bool(node.is_async)
    )


def waits(code: str) -> list[str]:
    """Each place where the code awaits, or imports what has a clock, chance or a socket."""
    found = [type(node).__name__ for node in ast.walk(ast.parse(code)) if is_asynchronous(node)]
    return found + [
        name for name in imports(code) if any(f"{name}.".startswith(f"{out}.") for out in OUTSIDE)
    ]


def shortcuts(module: str, code: str) -> list[str]:
    """What the module imports past the gateway, where it has to pass there."""
    room = room_of(module)
    allowed = BY_THE_GATEWAY.get(room)
    if allowed is None:
        return []
    own = {name: name.partition(".")[0] for name in own_imports(code)}
    return sorted(name for name, top in own.items() if top != room and not {name, top} & allowed)


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """One circle of modules that import each other, type checking included; empty where there is
    none.
    """
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@each("module", sorted(MODULES))
def test_a_file_imports_only_what_lies_below_it(module: str) -> None:
    assert trespasses(module, MODULES[module].read_text()) == []


@each(
    "module",
    sorted(name for name in MODULES if f"{name}.".startswith(tuple(f"{s}." for s in SANS_IO))),
)
def test_the_translation_never_waits_and_never_touches_a_clock_or_a_socket(module: str) -> None:
    assert waits(MODULES[module].read_text()) == []


@each("module", sorted(name for name in VERIFY if name.partition(".")[0] in SANS_IO_OF_VERIFY))
def test_what_judges_an_exchange_never_waits(module: str) -> None:
    assert waits(VERIFY[module].read_text()) == []


@each("module", sorted(VERIFY))
def test_the_conformance_checker_imports_nothing_of_the_server(module: str) -> None:
    assert strangers(VERIFY[module].read_text(), "antiphon") == []


@each("module", sorted(MODULES.keys() - USERS_OF_VERIFY))
def test_the_server_imports_nothing_of_the_conformance_checker(module: str) -> None:
    assert strangers(MODULES[module].read_text(), "antiphon_verify") == []


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("antiphon", "def late():\n    from antiphon.errors import log"),
        ("antiphon", "import antiphon"),
        ("antiphon", "import_module('antiphon.testing')"),
        ("antiphon_verify", "from antiphon_verify import fold"),
        ("antiphon_verify", "import_module('antiphon_verify.report')"),
    ],
)
def test_an_import_across_the_two_packages_is_seen(package: str, code: str) -> None:
    assert strangers(code, package) != []


def test_nothing_of_ours_imports_a_package_that_offers_names_of_others() -> None:
    named = {
        module: own_imports(path.read_text()) & FACADES.keys() for module, path in MODULES.items()
    }
    assert {module: names for module, names in named.items() if names} == {}


@pytest.mark.parametrize(
    ("package", "modules"), [("antiphon", MODULES), ("antiphon_verify", VERIFY)]
)
def test_no_modules_import_each_other(package: str, modules: Mapping[str, Path]) -> None:
    graph = {
        name: imports_of(package, modules, path.read_text()) - {name}
        for name, path in modules.items()
    }
    assert cycle(graph) == []


def test_a_circle_of_imports_is_seen() -> None:
    assert cycle({"runs.run": {"runs.plan"}, "runs.plan": {"runs.run"}}) != []


@each("module", sorted(name for name in MODULES if room_of(name) in BY_THE_GATEWAY))
def test_the_server_and_the_library_enter_the_core_by_the_gateway(module: str) -> None:
    assert shortcuts(module, MODULES[module].read_text()) == []


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("server.resources.models", "from antiphon.runs.run import Run"),
        (
            "server.websocket.connection",
            "def late():\n    from antiphon.storage.store import Store",
        ),
        ("library.calls", "from antiphon.runs.parts import RunParts"),
    ],
)
def test_a_way_past_the_gateway_is_seen(module: str, code: str) -> None:
    assert shortcuts(module, code) != []


def test_backends_are_called_without_aiohttp() -> None:
    """Loading it costs a server 13 MB and 170 ms."""
    modules = [name for name in MODULES if name.startswith("upstream.")]
    assert [
        name
        for name in modules
        if any(n.startswith("aiohttp") for n in imports(MODULES[name].read_text()))
    ] == []


def test_every_import_is_absolute_so_that_these_tests_see_it() -> None:
    paths = (*MODULES.values(), *VERIFY.values())
    assert [
        path for path in paths if any(name.startswith(".") for name in imports(path.read_text()))
    ] == []


def test_the_http_server_knows_nothing_of_antiphon() -> None:
    assert reach("http_server") == set()


def test_no_arrow_points_back() -> None:
    assert [room for room in ARROWS if room in reach(room)] == []


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("protocol.items.messages", "from antiphon.runs import run"),
        ("translation.writer", "def late():\n    import antiphon.storage.store"),
        ("runs.run", "from antiphon.storage.sqlite.store import SqliteStore"),
        ("upstream.call", "from antiphon.telemetry.observers import Call"),
        ("storage.postgres.store", "from antiphon.storage.sqlite.rows import Act"),
        ("server.application", "from antiphon import Antiphon"),
        ("http_server.host", "from antiphon.server.limits import Limits"),
        ("http_server.workers", "from antiphon.errors import log"),
        ("http_server.asgi", "from antiphon import Antiphon"),
        ("server.application", "from antiphon.build import Application"),
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
