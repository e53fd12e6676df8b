"""The API keys of simulated clients: two tenants, one of which meets its limits, and what the store
must never have of limits and budgets.
"""

import sqlite3
from collections.abc import Callable, Iterator

from antiphon.build import Application
from antiphon.protocol.console import CreateKey

WIDE = CreateKey(tenant="wide", tokens_per_day=6_000, budget_per_day=100_000)

NARROW = CreateKey(
    tenant="narrow",
    requests_per_minute=40,
    tokens_per_day=10_000_000,
    concurrency=2,
    budget_per_day=3,
)
"""At the prices of `simulation.server`, three responses reserve all of the budget."""

TENANTS = (WIDE.tenant, NARROW.tenant)

TRIGGERS = """
CREATE TEMP TRIGGER within_budget AFTER UPDATE OF day_cost ON budget_levels
WHEN
    NEW.day_cost < 0
    OR NEW.day_cost > (SELECT budget_per_day FROM api_keys WHERE id = NEW.api_key)
BEGIN SELECT overdrawn('a budget is at ' || NEW.day_cost); END;

CREATE TEMP TRIGGER within_tokens AFTER UPDATE OF day_tokens ON api_key_levels
WHEN
    NEW.day_tokens < 0
    OR NEW.day_tokens > (SELECT tokens_per_day FROM api_keys WHERE id = NEW.api_key)
BEGIN SELECT overdrawn('the tokens of a day are at ' || NEW.day_tokens); END;

CREATE TEMP TRIGGER within_concurrency AFTER UPDATE OF owner ON jobs
WHEN
    NEW.owner IS NOT NULL AND NEW.api_key <> ''
    AND (
        SELECT count(*) FROM jobs
        WHERE
            api_key = NEW.api_key AND owner IS NOT NULL
            AND owner NOT IN (SELECT id FROM workers WHERE expired = 1)
    ) > (SELECT concurrency FROM api_keys WHERE id = NEW.api_key)
BEGIN SELECT violated('job ' || NEW.response || ' runs above the limit of its key'); END;
"""

SPENT = """
SELECT api_keys.tenant, budget_levels.day_cost, api_key_levels.day_tokens, sums.cost, sums.tokens
FROM api_keys
JOIN (
    SELECT api_key, sum(cost) AS cost, sum(input_tokens + output_tokens) AS tokens
    FROM api_key_days GROUP BY api_key
) AS sums ON sums.api_key = api_keys.id
JOIN budget_levels ON budget_levels.api_key = api_keys.id
JOIN api_key_levels ON api_key_levels.api_key = api_keys.id
"""


async def issue(application: Application) -> tuple[str, ...]:
    """Create the keys; return what their clients send."""
    created = [await application.gateway.keys.create(one) for one in (WIDE, NARROW)]
    return tuple(one["key"] for one in created)


def watch_keys(connection: sqlite3.Connection, overdrawn: Callable[[str], None]) -> None:
    """Report each statement after which a limit or a budget is exceeded; see `checks.watch`."""
    connection.create_function("overdrawn", 1, overdrawn)
    connection.executescript(TRIGGERS)


def unsettled(connection: sqlite3.Connection, *, is_exact: bool) -> Iterator[str]:
    """Yield each key whose levels are not what its requests have used. Unless all of them have
    settled, as after a crash, reservations can be left: then the levels may be higher, never lower.
    """
    differs: Callable[[int, int], bool] = (
        (lambda level, used: level != used) if is_exact else (lambda level, used: level < used)
    )
    for tenant, cost_level, token_level, cost, tokens in connection.execute(SPENT):
        if differs(cost_level, cost):
            yield f"{tenant} has spent {cost}, and its budget is at {cost_level}"
        if differs(token_level, tokens):
            yield f"{tenant} has used {tokens} tokens, and its limit is at {token_level}"
