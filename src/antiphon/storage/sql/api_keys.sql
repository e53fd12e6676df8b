-- put_api_key --
INSERT INTO api_keys (
    id, tenant, name, digest, shown, created_at, expires_at, revoked_at, old_digest, old_until,
    models, requests_per_minute, tokens_per_minute, tokens_per_day, concurrency, caches,
    budget_per_day, budget_per_month, role
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
ON CONFLICT (id) DO UPDATE SET
    tenant = excluded.tenant, name = excluded.name, digest = excluded.digest, shown = excluded.shown,
    expires_at = excluded.expires_at, revoked_at = excluded.revoked_at, old_digest = excluded.old_digest,
    old_until = excluded.old_until, models = excluded.models, requests_per_minute = excluded.requests_per_minute,
    tokens_per_minute = excluded.tokens_per_minute, tokens_per_day = excluded.tokens_per_day,
    concurrency = excluded.concurrency, caches = excluded.caches, budget_per_day = excluded.budget_per_day,
    budget_per_month = excluded.budget_per_month, role = excluded.role

-- find_api_key --
SELECT
    id, api_keys.tenant, name, digest, shown, created_at, expires_at, revoked_at, old_digest, old_until,
    models, requests_per_minute, tokens_per_minute, tokens_per_day, concurrency, caches,
    budget_per_day, budget_per_month, role, tenant_budgets.per_day, tenant_budgets.per_month
FROM api_keys LEFT JOIN tenant_budgets ON tenant_budgets.tenant = api_keys.tenant
WHERE
    (digest = $1 OR (old_digest = $1 AND old_until > $2))
    AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)

-- load_api_key --
SELECT
    id, api_keys.tenant, name, digest, shown, created_at, expires_at, revoked_at, old_digest, old_until,
    models, requests_per_minute, tokens_per_minute, tokens_per_day, concurrency, caches,
    budget_per_day, budget_per_month, role, tenant_budgets.per_day, tenant_budgets.per_month
FROM api_keys LEFT JOIN tenant_budgets ON tenant_budgets.tenant = api_keys.tenant
WHERE id = $1 AND revoked_at IS NULL

-- api_keys --
SELECT
    id, api_keys.tenant, name, digest, shown, created_at, expires_at, revoked_at, old_digest, old_until,
    models, requests_per_minute, tokens_per_minute, tokens_per_day, concurrency, caches,
    budget_per_day, budget_per_month, role, tenant_budgets.per_day, tenant_budgets.per_month
FROM api_keys LEFT JOIN tenant_budgets ON tenant_budgets.tenant = api_keys.tenant
ORDER BY created_at DESC, id DESC

-- has_api_keys --
SELECT id FROM api_keys LIMIT 1

-- take_tokens --
-- The levels are times in microseconds: when each minute's limit is fully available again. A granted request advances
-- them by its cost, at most to a minute from now. If one limit has no room, nothing changes and no row is returned.
INSERT INTO api_key_levels (api_key, requests_until, tokens_until, day, day_tokens)
VALUES (
    $1, CAST($2 AS BIGINT) + CAST($3 AS BIGINT), CAST($2 AS BIGINT) + CAST($4 AS BIGINT),
    CAST($5 AS BIGINT), CAST($6 AS BIGINT)
)
ON CONFLICT (api_key) DO UPDATE SET
    requests_until = CAST($3 AS BIGINT) + CASE
        WHEN api_key_levels.requests_until > CAST($2 AS BIGINT) THEN api_key_levels.requests_until
        ELSE CAST($2 AS BIGINT)
    END,
    tokens_until = CAST($4 AS BIGINT) + CASE
        WHEN api_key_levels.tokens_until > CAST($2 AS BIGINT) THEN api_key_levels.tokens_until
        ELSE CAST($2 AS BIGINT)
    END,
    day = excluded.day,
    day_tokens = CAST($6 AS BIGINT) + CASE
        WHEN api_key_levels.day = excluded.day THEN api_key_levels.day_tokens ELSE 0
    END
WHERE
    (CAST($3 AS BIGINT) = 0 OR api_key_levels.requests_until + CAST($3 AS BIGINT) <= CAST($2 AS BIGINT) + 60000000)
    AND (CAST($4 AS BIGINT) = 0 OR api_key_levels.tokens_until + CAST($4 AS BIGINT) <= CAST($2 AS BIGINT) + 60000000)
    AND (
        api_key_levels.day <> excluded.day
        OR api_key_levels.day_tokens + CAST($6 AS BIGINT) <= CAST($7 AS BIGINT)
    )
RETURNING requests_until, tokens_until, day_tokens

-- level --
SELECT requests_until, tokens_until, CASE WHEN day = $2 THEN day_tokens ELSE 0 END
FROM api_key_levels WHERE api_key = $1

-- settle --
-- A minute that ended long ago does not pay for current usage.
UPDATE api_key_levels SET
    tokens_until = CASE
        WHEN tokens_until < CAST($3 AS BIGINT) THEN CAST($3 AS BIGINT) ELSE tokens_until
    END + coalesce((SELECT CAST($2 AS BIGINT) * 60000000 / tokens_per_minute FROM api_keys WHERE id = $1), 0),
    day_tokens = day_tokens + CASE WHEN day = $4 THEN CAST($2 AS BIGINT) ELSE 0 END
WHERE api_key = $1

-- add_use --
INSERT INTO api_key_days (
    tenant, day, api_key, model, requests, input_tokens, cached_tokens, output_tokens, cost
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (tenant, day, api_key, model) DO UPDATE SET
    requests = api_key_days.requests + excluded.requests,
    input_tokens = api_key_days.input_tokens + excluded.input_tokens,
    cached_tokens = api_key_days.cached_tokens + excluded.cached_tokens,
    output_tokens = api_key_days.output_tokens + excluded.output_tokens,
    cost = api_key_days.cost + excluded.cost

-- put_usage_batch --
-- Returns nothing for a batch that is counted already.
INSERT INTO usage_batches (writer, number, written_at) VALUES ($1, $2, $3)
ON CONFLICT (writer) DO UPDATE SET number = excluded.number, written_at = excluded.written_at
WHERE usage_batches.number < excluded.number
RETURNING number

-- purge_usage_batches --
DELETE FROM usage_batches
WHERE writer IN (SELECT writer FROM usage_batches WHERE written_at <= $1 LIMIT $2)
RETURNING writer

-- count_usage_batches --
SELECT count(*) FROM usage_batches WHERE written_at <= $1

-- usage --
-- The usage of a tenant: the $7 rows with the most requests. $3 to $6 select grouping by tenant, key, model and day.
SELECT * FROM (SELECT
    CASE WHEN CAST($3 AS INTEGER) = 1 THEN api_key_days.tenant END AS of_tenant,
    CASE WHEN CAST($4 AS INTEGER) = 1 THEN api_key_days.api_key END AS of_key,
    max(CASE WHEN CAST($4 AS INTEGER) = 1 THEN api_keys.name END),
    max(CASE WHEN CAST($4 AS INTEGER) = 1 THEN api_keys.shown END),
    CASE WHEN CAST($5 AS INTEGER) = 1 THEN model END AS of_model,
    CASE WHEN CAST($6 AS INTEGER) = 1 THEN day END AS of_day,
    CAST(sum(requests) AS BIGINT) AS of_requests, CAST(sum(input_tokens) AS BIGINT), CAST(sum(cached_tokens) AS BIGINT),
    CAST(sum(output_tokens) AS BIGINT), CAST(sum(cost) AS BIGINT)
FROM api_key_days JOIN api_keys ON api_keys.id = api_key_days.api_key
WHERE day >= $1 AND day < $2 AND api_key_days.tenant = $8
GROUP BY of_day, of_tenant, of_key, of_model
ORDER BY of_requests DESC, of_day DESC, of_tenant, of_key, of_model LIMIT $7) AS largest
ORDER BY of_day, of_tenant, of_key, of_model

-- usage_of_all --
-- The same for all tenants.
SELECT * FROM (SELECT
    CASE WHEN CAST($3 AS INTEGER) = 1 THEN api_key_days.tenant END AS of_tenant,
    CASE WHEN CAST($4 AS INTEGER) = 1 THEN api_key_days.api_key END AS of_key,
    max(CASE WHEN CAST($4 AS INTEGER) = 1 THEN api_keys.name END),
    max(CASE WHEN CAST($4 AS INTEGER) = 1 THEN api_keys.shown END),
    CASE WHEN CAST($5 AS INTEGER) = 1 THEN model END AS of_model,
    CASE WHEN CAST($6 AS INTEGER) = 1 THEN day END AS of_day,
    CAST(sum(requests) AS BIGINT) AS of_requests, CAST(sum(input_tokens) AS BIGINT), CAST(sum(cached_tokens) AS BIGINT),
    CAST(sum(output_tokens) AS BIGINT), CAST(sum(cost) AS BIGINT)
FROM api_key_days JOIN api_keys ON api_keys.id = api_key_days.api_key
WHERE day >= $1 AND day < $2
GROUP BY of_day, of_tenant, of_key, of_model
ORDER BY of_requests DESC, of_day DESC, of_tenant, of_key, of_model LIMIT $7) AS largest
ORDER BY of_day, of_tenant, of_key, of_model
