"""What is mutated, and the tests that may judge it; of these, a mutant's own are found by a
trace.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SERVER = "tests/integration/server"

STATEMENTS = "src/antiphon/storage/**/*.py"
"""The code that performs the statements of `storage/sql/`."""


@dataclass(frozen=True, slots=True)
class Area:
    """Source files, and test files or folders, as patterns: `x{.py,/**/*.py}` is a module or a
    package of that name.
    """

    sources: tuple[str, ...]
    tests: tuple[str, ...]


def _code(*names: str) -> tuple[str, ...]:
    """Return the patterns of modules or packages of `src/antiphon`, and of files of SQL."""
    return tuple(
        f"src/antiphon/{name}" if name.endswith(".sql") else f"src/antiphon/{name}{EITHER}"
        for name in names
    )


EITHER = "{.py,/**/*.py}"

AREAS: Mapping[str, Area] = {
    "store": Area(
        _code("storage/store", "storage/upkeep", "storage/chunk_writer", "storage/notifications")
        + _code("storage/sqlite", "storage/postgres")
        + _code("storage/operations/step"),
        (
            "tests/unit/storage",
            "tests/integration/storage",
            "tests/integration/cli/test_storage.py",
            "tests/integration/cli/test_backup.py",
            "tests/integration/jobs",
            "tests/system/storage/postgres/test_pooler.py",
            f"{SERVER}/test_background.py",
        ),
    ),
    "jobs and leases": Area(
        _code(
            "jobs",
            "recording/idempotency",
            "storage/operations/jobs",
            "storage/operations/idempotency",
        )
        + _code("storage/operations/event_log", "storage/operations/leases")
        + _code("storage/sql/jobs.sql", "storage/sql/keys.sql"),
        (
            "tests/unit/jobs",
            "tests/unit/storage",
            "tests/integration/storage",
            "tests/integration/jobs",
            f"{SERVER}/test_background.py",
            f"{SERVER}/test_idempotency.py",
            f"{SERVER}/test_limits.py",
            f"{SERVER}/resources/test_conversations.py",
            "tests/integration/recording/test_idempotency.py",
            "tests/integration/history/test_bounds.py",
            "tests/integration/history/test_history_memory.py",
            "tests/integration/telemetry/test_store_metrics.py",
            "tests/integration/access/test_credentials.py",
            "tests/integration/cli/test_storage.py",
        ),
    ),
    "limits": Area(
        _code(
            *(
                "access/limits",
                "access/weight",
                "access/metering",
                "access/spending",
                "access/api_keys",
            ),
            *("storage/operations/api_keys", "storage/operations/budgets", "upstream/prices"),
        )
        + _code("storage/sql/api_keys.sql", "storage/sql/budgets.sql"),
        (
            "tests/unit/access",
            "tests/unit/storage",
            "tests/integration/access",
            "tests/integration/storage",
            f"{SERVER}/test_limits.py",
            f"{SERVER}/test_keys.py",
            f"{SERVER}/test_budgets.py",
            f"{SERVER}/test_fair_sharing.py",
            f"{SERVER}/admin/test_keys.py",
            "tests/integration/build/test_server.py",
            "tests/integration/store",
            "tests/unit/upstream/test_prices.py",
            "tests/integration/cli/test_keys.py",
            "tests/integration/cli/test_key_usage.py",
        ),
    ),
    "routing": Area(
        _code(
            "upstream/router",
            "upstream/health",
            "upstream/retry_policy",
            "upstream/retry_after",
            "upstream/slots",
        )
        + _code(
            "upstream/candidates",
            "upstream/backend_state",
            "upstream/options",
            "upstream/registry",
            "upstream/poll",
            "upstream/call",
        )
        + _code("sharing/scheduler"),
        (
            "tests/unit/sharing",
            "tests/unit/upstream/test_*.py",
            "tests/unit/upstream/probing/test_reports.py",
            "tests/unit/build/test_models.py",
            "tests/integration/upstream/test_*.py",
            "tests/integration/sharing",
            f"{SERVER}/test_routing.py",
            f"{SERVER}/test_backend_faults.py",
            f"{SERVER}/test_fair_sharing.py",
        ),
    ),
    "tenancy": Area(
        _code(
            "storage/operations/responses",
            "storage/operations/conversations",
            "storage/operations/webhooks",
        )
        + _code(
            "storage/operations/answers",
            "storage/sql/responses.sql",
            "storage/sql/conversations.sql",
        )
        + _code("storage/sql/webhooks.sql", "storage/sql/answers.sql", "storage/operations/sizes")
        + _code("storage/sql/sizes.sql"),
        (
            "tests/unit/storage",
            "tests/integration/storage",
            "tests/integration/objects",
            "tests/integration/console",
            "tests/integration/cache",
            "tests/integration/webhooks",
            "tests/integration/jobs/test_cleaner.py",
            "tests/integration/cli/test_storage.py",
            "tests/integration/history/test_context.py",
            "tests/integration/history/test_chain_cache.py",
            f"{SERVER}/resources",
            f"{SERVER}/test_tenants.py",
            f"{SERVER}/test_limits.py",
        ),
    ),
}


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
