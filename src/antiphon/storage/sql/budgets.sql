-- put_tenant_budget --
INSERT INTO tenant_budgets (tenant, per_day, per_month) VALUES ($1, $2, $3)
ON CONFLICT (tenant) DO UPDATE SET per_day = excluded.per_day, per_month = excluded.per_month

-- delete_tenant_budget --
DELETE FROM tenant_budgets WHERE tenant = $1

-- tenant_budgets --
SELECT tenant, per_day, per_month FROM tenant_budgets ORDER BY tenant

-- lock_budgets --
-- The budget of a tenant, then that of one of its keys. Requests that may spend from one decide one after the other.
SELECT api_key, day, day_cost, month_cost FROM budget_levels
WHERE tenant = $1 AND (api_key = '' OR api_key = $2)
ORDER BY api_key FOR UPDATE

-- open_budget --
-- The first request of the day of $3, in the month of $4, begins with what was recorded as spent. What was reserved on
-- another day counts no longer: when its request ends, its cost is recorded on the day of its end.
INSERT INTO budget_levels (tenant, api_key, day, day_cost, month_cost)
SELECT
    CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS BIGINT),
    coalesce(sum(CASE WHEN day >= CAST($3 AS BIGINT) THEN cost ELSE 0 END), 0),
    coalesce(sum(CASE WHEN day < CAST($3 AS BIGINT) THEN cost ELSE 0 END), 0)
FROM api_key_days
WHERE
    tenant = CAST($1 AS TEXT) AND day >= CAST($4 AS BIGINT)
    AND (CAST($2 AS TEXT) = '' OR api_key = CAST($2 AS TEXT))
ON CONFLICT (tenant, api_key) DO UPDATE SET
    day = excluded.day, day_cost = excluded.day_cost, month_cost = excluded.month_cost
WHERE budget_levels.day < excluded.day

-- close_budget --
DELETE FROM budget_levels WHERE tenant = $1 AND api_key = $2

-- spend_budget --
UPDATE budget_levels SET day_cost = day_cost + $3 WHERE tenant = $1 AND api_key = $2

-- settle_budget --
-- $4 was spent on the day of $3, and $5 of it was reserved on that day. A later day has forgotten the reservation. An
-- earlier one is left alone: the next request reads what is recorded.
UPDATE budget_levels SET
    day_cost = CASE
        WHEN day = CAST($3 AS BIGINT) THEN day_cost + CAST($4 AS BIGINT) - CAST($5 AS BIGINT) ELSE day_cost
    END,
    month_cost = CASE WHEN day > CAST($3 AS BIGINT) THEN month_cost + CAST($4 AS BIGINT) ELSE month_cost END
WHERE tenant = $1 AND api_key = $2 AND day >= CAST($3 AS BIGINT)
