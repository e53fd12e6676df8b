-- put_step --
INSERT INTO steps (response, place, key, state, digest, body, began, ended, attempt, version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (response, place) DO UPDATE SET
    state = excluded.state, digest = excluded.digest, body = excluded.body, ended = excluded.ended,
    attempt = excluded.attempt, version = excluded.version

-- step_sizes --
SELECT length(steps.body)
FROM steps JOIN responses ON responses.seq = steps.response
WHERE responses.id = $1 AND responses.tenant = $2 AND steps.place > $3
ORDER BY steps.place LIMIT $4

-- steps --
-- Without a body of more than $5 bytes.
SELECT
    steps.place, steps.key, steps.state, steps.digest, CASE WHEN length(steps.body) <= $5 THEN steps.body END,
    steps.began, steps.ended, steps.attempt, steps.version
FROM steps JOIN responses ON responses.seq = steps.response
WHERE responses.id = $1 AND responses.tenant = $2 AND steps.place > $3
ORDER BY steps.place LIMIT $4

-- step_outlines --
SELECT
    steps.place, steps.key, steps.state, length(steps.body), steps.began, steps.ended, steps.attempt, steps.version
FROM steps JOIN responses ON responses.seq = steps.response
WHERE responses.id = $1 AND responses.tenant = $2 AND steps.place > $3
ORDER BY steps.place LIMIT $4

-- step_size --
SELECT length(steps.body)
FROM steps JOIN responses ON responses.seq = steps.response
WHERE responses.id = $1 AND responses.tenant = $2 AND steps.place = $3

-- step --
SELECT
    steps.place, steps.key, steps.state, steps.digest, steps.body, steps.began, steps.ended, steps.attempt,
    steps.version
FROM steps JOIN responses ON responses.seq = steps.response
WHERE responses.id = $1 AND responses.tenant = $2 AND steps.place = $3

-- drop_steps --
DELETE FROM steps WHERE response = $1

-- waiting --
-- The response that has an output item ($1), and of its journal what waits for the client, or was answered (place $4).
SELECT
    responses.id, steps.place, steps.key, steps.state, steps.digest, steps.body, steps.began, steps.ended,
    steps.attempt, steps.version
FROM items
JOIN responses ON responses.seq = items.response
JOIN steps ON steps.response = responses.seq AND (steps.state = 5 OR steps.place = $4)
WHERE
    items.id = $1 AND items.is_output = 1 AND responses.tenant = $2 AND responses.is_stored = 1
    AND (responses.expires_at IS NULL OR responses.expires_at > $3)

-- lock_waiting --
-- Answers that arrive at the same time are taken one after the other.
SELECT seq FROM responses WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3) FOR UPDATE

-- own_step --
SELECT digest, body, attempt FROM steps WHERE response = $1 AND place = $2

-- status_of --
SELECT seq, status, is_stored FROM responses WHERE id = $1 AND tenant = $2

-- count_repetition --
UPDATE steps SET attempt = attempt + 1 WHERE response = $1 AND place = $2

-- grow_response --
UPDATE responses SET log_bytes = log_bytes + $2 WHERE seq = $1

-- grow_job --
UPDATE jobs SET log_bytes = log_bytes + $2, kept_bytes = kept_bytes + $2, step_bytes = step_bytes + $2
WHERE response = $1
