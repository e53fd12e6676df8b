-- put_tenant_budget --
INSERT INTO tenant_budgets (tenant, per_day, per_month) VALUES ($1, $2, $3)
ON CONFLICT (tenant) DO UPDATE SET per_day = excluded.per_day, per_month = excluded.per_month

-- delete_tenant_budget --
DELETE FROM tenant_budgets WHERE tenant = $1

-- tenant_budgets --
SELECT tenant, per_day, per_month FROM tenant_budgets ORDER BY tenant

-- lock_budgets --
-- The budget of a tenant, then that of one of its keys. Requests for the same budget are decided one after the other.
SELECT api_key, day, day_cost, month_cost FROM budget_levels
WHERE tenant = $1 AND (api_key = '' OR api_key = $2)
ORDER BY api_key FOR UPDATE

-- open_budget --
-- The first request of the day $3, in the month $4, starts with the recorded spending. Reservations of another day no
-- longer count: when such a request ends, its cost is recorded on the day when it ends.
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
-- Records spending of $4 on the day $3, and releases $5 that was reserved on that day. On a later day, the reservation
-- no longer exists. The row of an earlier day is unchanged: the next request reads the recorded spending.
UPDATE budget_levels SET
    day_cost = CASE
        WHEN day = CAST($3 AS BIGINT) THEN day_cost + CAST($4 AS BIGINT) - CAST($5 AS BIGINT) ELSE day_cost
    END,
    month_cost = CASE WHEN day > CAST($3 AS BIGINT) THEN month_cost + CAST($4 AS BIGINT) ELSE month_cost END
WHERE tenant = $1 AND api_key = $2 AND day >= CAST($3 AS BIGINT)
