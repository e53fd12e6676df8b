-- put_endpoint --
INSERT INTO webhook_endpoints (
    id, tenant, name, url, event_types, created_at, updated_at, secret, old_secret, old_secret_until
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, url = excluded.url, event_types = excluded.event_types, updated_at = excluded.updated_at,
    secret = excluded.secret, old_secret = excluded.old_secret, old_secret_until = excluded.old_secret_until

-- endpoints --
SELECT id, tenant, name, url, event_types, created_at, updated_at, secret, old_secret, old_secret_until
FROM webhook_endpoints WHERE tenant = $1 ORDER BY created_at DESC, id DESC

-- count_endpoints --
SELECT count(*) FROM webhook_endpoints WHERE tenant = $1 AND id <> $2

-- load_endpoint --
SELECT id, tenant, name, url, event_types, created_at, updated_at, secret, old_secret, old_secret_until
FROM webhook_endpoints WHERE id = $1 AND tenant = $2

-- delete_endpoint --
DELETE FROM webhook_endpoints WHERE id = $1 AND tenant = $2 RETURNING id

-- announce --
INSERT INTO webhook_deliveries (id, endpoint, type, body, created_at, due_at, attempts, failed_at, last_error)
VALUES ($1, $2, $3, $4, $5, $5, 0, NULL, '')

-- count_due --
-- Counts up to a limit.
SELECT count(*) FROM (SELECT 1 AS one FROM webhook_deliveries WHERE failed_at IS NULL AND due_at <= $1 LIMIT $2) AS first_due

-- due_endpoints --
-- The endpoints with waiting deliveries, found one by one in the index, ordered by the longest wait.
WITH RECURSIVE waiting (endpoint) AS (
    SELECT min(endpoint) FROM webhook_deliveries WHERE failed_at IS NULL
    UNION ALL
    SELECT (
        SELECT min(webhook_deliveries.endpoint) FROM webhook_deliveries
        WHERE failed_at IS NULL AND webhook_deliveries.endpoint > waiting.endpoint
    ) FROM waiting WHERE waiting.endpoint IS NOT NULL
)
SELECT id, tenant FROM (
    SELECT webhook_endpoints.id, tenant, (
        SELECT min(due_at) FROM webhook_deliveries WHERE endpoint = webhook_endpoints.id AND failed_at IS NULL
    ) AS first_due
    FROM waiting JOIN webhook_endpoints ON webhook_endpoints.id = waiting.endpoint
) AS found
WHERE first_due <= $1 ORDER BY first_due, id

-- due_of_endpoint --
SELECT id FROM webhook_deliveries WHERE endpoint = $1 AND failed_at IS NULL AND due_at <= $2 ORDER BY due_at LIMIT $3

-- due --
-- The first of each tenant, then the second of each, and so on, so that one tenant with many does not hide the others.
SELECT id, tenant FROM (
    SELECT
        webhook_deliveries.id, tenant, due_at,
        row_number() OVER (PARTITION BY tenant ORDER BY due_at, webhook_deliveries.id) AS place
    FROM webhook_deliveries JOIN webhook_endpoints ON webhook_endpoints.id = webhook_deliveries.endpoint
    WHERE failed_at IS NULL AND due_at <= $1
) AS waiting
ORDER BY place, due_at, id LIMIT $2

-- claim_delivery --
UPDATE webhook_deliveries SET due_at = $3, attempts = attempts + 1
WHERE id = $1 AND failed_at IS NULL AND due_at <= $2
RETURNING id

-- delivery --
SELECT
    webhook_deliveries.id, type, body, webhook_deliveries.created_at, due_at, attempts, failed_at, last_error,
    webhook_endpoints.id, tenant, name, url, event_types, webhook_endpoints.created_at, updated_at, secret,
    old_secret, old_secret_until
FROM webhook_deliveries JOIN webhook_endpoints ON webhook_endpoints.id = webhook_deliveries.endpoint
WHERE webhook_deliveries.id = $1

-- deliveries --
SELECT
    webhook_deliveries.id, type, body, webhook_deliveries.created_at, due_at, attempts, failed_at, last_error,
    webhook_endpoints.id, tenant, name, url, event_types, webhook_endpoints.created_at, updated_at, secret,
    old_secret, old_secret_until
FROM webhook_deliveries JOIN webhook_endpoints ON webhook_endpoints.id = webhook_deliveries.endpoint
ORDER BY webhook_deliveries.created_at, webhook_deliveries.id

-- delivery_page --
-- Newest first, because an id begins with the time. $2 is 1 for failed deliveries, 0 for waiting ones, 2 for both.
SELECT
    webhook_deliveries.id, type, body, webhook_deliveries.created_at, due_at, attempts, failed_at, last_error,
    webhook_endpoints.id, tenant, name, url, event_types, webhook_endpoints.created_at, updated_at, secret,
    old_secret, old_secret_until
FROM webhook_deliveries JOIN webhook_endpoints ON webhook_endpoints.id = webhook_deliveries.endpoint
WHERE
    webhook_deliveries.id < $1
    AND CAST($2 AS BIGINT) <> CASE WHEN failed_at IS NULL THEN 1 ELSE 0 END
    AND (CAST($4 AS BIGINT) = 0 OR tenant = $5)
ORDER BY webhook_deliveries.id DESC LIMIT $3

-- delivered --
DELETE FROM webhook_deliveries WHERE id = $1

-- postpone --
UPDATE webhook_deliveries SET due_at = $2, last_error = $3 WHERE id = $1

-- give_up --
UPDATE webhook_deliveries SET failed_at = $2, last_error = $3 WHERE id = $1

-- retry_delivery --
UPDATE webhook_deliveries SET failed_at = NULL, due_at = $2, attempts = 0 WHERE id = $1 RETURNING id

-- retry_failed_deliveries --
UPDATE webhook_deliveries SET failed_at = NULL, due_at = $1, attempts = 0 WHERE failed_at IS NOT NULL RETURNING id
