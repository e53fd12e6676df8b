-- keep_answer --
INSERT INTO answers (tenant, key, body, size, used_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant, key) DO UPDATE SET
    body = excluded.body, size = excluded.size, used_at = excluded.used_at, expires_at = excluded.expires_at

-- find_answer --
SELECT body, used_at FROM answers WHERE tenant = $1 AND key = $2 AND expires_at > $3

-- use_answer --
UPDATE answers SET used_at = $3 WHERE tenant = $1 AND key = $2

-- answers_size --
SELECT coalesce(sum(size), 0) FROM answers

-- trim_answers --
-- Deletes the answers beyond the limit, ordered by their last use, newest first.
DELETE FROM answers
WHERE (tenant, key) IN (
    SELECT tenant, key
    FROM (SELECT tenant, key, sum(size) OVER (ORDER BY used_at DESC, tenant, key) AS held FROM answers) AS by_use
    WHERE held > $1 LIMIT $2
)
RETURNING key

-- purge_answers --
DELETE FROM answers
WHERE (tenant, key) IN (SELECT tenant, key FROM answers WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
RETURNING key

-- count_answers --
SELECT count(*) FROM answers WHERE expires_at <= $1
