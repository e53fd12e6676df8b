"""What is mutated, and the tests relevant to it: the quick and likely ones first, for the first failure ends a run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

CONTRACT = (
    "tests/integration/storage/sqlite/test_store.py",
    "tests/integration/storage/postgres/test_store.py",
)
SERVER = "tests/integration/server"


@dataclass(frozen=True, slots=True)
class Area:
    """Files of `src/antiphon`, as patterns, and test files or folders."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]


AREAS: Mapping[str, Area] = {
    "store": Area(
        (
            "storage/sql_store/*.py",
            "storage/notifications.py",
            "storage/sqlite/*.py",
            "storage/postgres/*.py",
            "storage/operations/step.py",
        ),
        (
            "tests/unit/storage",
            *CONTRACT,
            "tests/integration/storage",
            "tests/integration/testing/store",
            "tests/integration/cli/test_storage.py",
            f"{SERVER}/test_background.py",
        ),
    ),
    "jobs and leases": Area(
        ("jobs/*.py", "runs/idempotency.py", "storage/operations/{jobs,idempotency}.py", "storage/sql/{jobs,keys}.sql"),
        (
            "tests/unit/jobs",
            "tests/integration/storage/test_tenancy.py",
            *CONTRACT,
            "tests/integration/jobs",
            f"{SERVER}/test_background.py",
            f"{SERVER}/test_idempotency.py",
            "tests/integration/runs/test_idempotency.py",
            f"{SERVER}/test_limits.py",
            "tests/integration/telemetry/test_store_metrics.py",
        ),
    ),
    "limits": Area(
        (
            "access/{limits,metering,api_keys}.py",
            "storage/operations/api_keys.py",
            "storage/sql/api_keys.sql",
        ),
        (
            "tests/integration/access",
            *CONTRACT,
            f"{SERVER}/test_limits.py",
            f"{SERVER}/test_keys.py",
            "tests/integration/cli/test_keys.py",
        ),
    ),
    "routing": Area(
        (
            "upstream/{router,health,retry_policy,retry_after,slots,candidates,backend_state,registry,poll,call}.py",
            "sharing/scheduler.py",
        ),
        (
            "tests/unit/sharing",
            "tests/unit/upstream/test_*.py",
            "tests/integration/upstream/test_*.py",
            f"{SERVER}/test_routing.py",
            f"{SERVER}/test_backend_faults.py",
            "tests/integration/sharing",
        ),
    ),
    "tenancy": Area(
        (
            "storage/operations/{responses,conversations,webhooks,answers}.py",
            "storage/sql/{responses,conversations,webhooks,answers}.sql",
        ),
        (
            "tests/integration/storage/test_tenancy.py",
            *CONTRACT,
            "tests/integration/stored",
            f"{SERVER}/resources",
            f"{SERVER}/test_tenants.py",
            "tests/integration/storage",
            "tests/integration/cache",
            "tests/integration/runs/test_context.py",
            f"{SERVER}/test_limits.py",
        ),
    ),
}


EQUIVALENT: Mapping[tuple[str, str], str] = {
    (
        "src/antiphon/storage/operations/api_keys.py",
        "return 1 if per_minute is None else amount * MINUTE // per_minute",
    ): "a microsecond of a minute for each request",
}
"""Changed lines whose behaviour is the same, by file and line without its indent, and the reason."""


def expand(root: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """Return the files and folders below a folder that match, in order and each once."""
    seen: set[Path] = set()
    for pattern in patterns:
        for path in sorted(one for plain in _alternatives(pattern) for one in root.glob(plain)):
            if path not in seen:
                seen.add(path)
                yield path


def _alternatives(pattern: str) -> Iterator[str]:
    """Expand `{a,b}`, which `Path.glob` does not know."""
    before, brace, rest = pattern.partition("{")
    if not brace:
        yield pattern
        return
    names, _, after = rest.partition("}")
    yield from (f"{before}{name}{after}" for name in names.split(","))
