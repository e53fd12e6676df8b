-- reserve --
-- Changes nothing and returns no row if an unexpired reservation exists, unless its worker has expired.
INSERT INTO idempotency_keys (tenant, key, fingerprint, response_id, owner, created_at, is_stream, reply)
VALUES ($1, $2, $3, $4, $5, $6, NULL, NULL)
ON CONFLICT (tenant, key) DO UPDATE SET
    fingerprint = excluded.fingerprint, response_id = excluded.response_id, owner = excluded.owner,
    created_at = excluded.created_at, is_stream = NULL, reply = NULL
WHERE
    idempotency_keys.created_at <= $7
    OR (
        idempotency_keys.reply IS NULL
        AND idempotency_keys.owner IN (SELECT id FROM workers WHERE expired = 1 AND id <> $5)
    )
RETURNING (SELECT expired FROM workers WHERE workers.id = $5)

-- find_key --
SELECT fingerprint, response_id, owner, is_stream, reply
FROM idempotency_keys WHERE tenant = $1 AND key = $2 AND created_at > $3

-- put_reply --
UPDATE idempotency_keys SET is_stream = $4, reply = $5, owner = NULL
WHERE tenant = $1 AND key = $2 AND response_id = $3
RETURNING key

-- answer_key --
UPDATE idempotency_keys SET response_id = $6, is_stream = $4, reply = $5, owner = NULL
WHERE tenant = $1 AND key = $2 AND response_id = $3
RETURNING key

-- free_key --
DELETE FROM idempotency_keys WHERE tenant = $1 AND key = $2 AND response_id = $3 AND reply IS NULL
