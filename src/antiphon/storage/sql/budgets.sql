-- put_tenant_budget --
INSERT INTO tenant_budgets (tenant, per_day, per_month) VALUES ($1, $2, $3)
ON CONFLICT (tenant) DO UPDATE SET per_day = excluded.per_day, per_month = excluded.per_month

-- delete_tenant_budget --
DELETE FROM tenant_budgets WHERE tenant = $1

-- tenant_budgets --
SELECT tenant, per_day, per_month FROM tenant_budgets ORDER BY tenant

-- lock_budgets --
-- The budget of a tenant, then that of one of its keys. Requests that may spend from one decide one after the other.
SELECT api_key, day, day_cost, month, month_cost FROM budget_levels
WHERE tenant = $1 AND (api_key = '' OR api_key = $2)
ORDER BY api_key FOR UPDATE

-- open_budget --
-- What was spent in the day of $3 and in the month of $4 is spent of a new budget.
INSERT INTO budget_levels (tenant, api_key, day, day_cost, month, month_cost)
SELECT
    CAST($1 AS TEXT), CAST($2 AS TEXT),
    CAST($3 AS BIGINT), coalesce(sum(CASE WHEN day >= CAST($3 AS BIGINT) THEN cost ELSE 0 END), 0),
    CAST($4 AS BIGINT), coalesce(sum(cost), 0)
FROM api_key_days
WHERE
    tenant = CAST($1 AS TEXT) AND day >= CAST($4 AS BIGINT)
    AND (CAST($2 AS TEXT) = '' OR api_key = CAST($2 AS TEXT))
ON CONFLICT (tenant, api_key) DO NOTHING

-- close_budget --
DELETE FROM budget_levels WHERE tenant = $1 AND api_key = $2

-- count_cost --
-- A day or a month that is over is not counted any more; the first cost of a new one begins it.
UPDATE budget_levels SET
    day_cost = CASE
        WHEN day > $3 THEN day_cost WHEN day = $3 THEN day_cost + CAST($4 AS BIGINT) ELSE CAST($4 AS BIGINT)
    END,
    day = CASE WHEN day > $3 THEN day ELSE $3 END,
    month_cost = CASE
        WHEN month > $5 THEN month_cost WHEN month = $5 THEN month_cost + CAST($6 AS BIGINT) ELSE CAST($6 AS BIGINT)
    END,
    month = CASE WHEN month > $5 THEN month ELSE $5 END
WHERE tenant = $1 AND api_key = $2
