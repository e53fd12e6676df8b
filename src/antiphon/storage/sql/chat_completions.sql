-- put_completion --
INSERT INTO chat_completions (
    id, tenant, expires_at, model, requested_model, tags, message_bytes, metadata, body
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
RETURNING seq

-- put_completion_message --
INSERT INTO chat_completion_messages (completion, position, body) VALUES ($1, $2, $3)

-- load_completion --
SELECT id, body, model, requested_model, metadata, tenant, expires_at FROM chat_completions
WHERE id = $1 AND tenant = $2 AND expires_at > $3

-- completion_size --
SELECT length(body) FROM chat_completions WHERE id = $1 AND tenant = $2 AND expires_at > $3

-- update_completion --
UPDATE chat_completions SET metadata = $4, tags = $5 WHERE id = $1 AND tenant = $2 AND expires_at > $3

-- delete_completion --
DELETE FROM chat_completions WHERE id = $1 AND tenant = $2 AND expires_at > $3
RETURNING seq

-- completion_place --
SELECT seq, message_bytes FROM chat_completions WHERE id = $1 AND tenant = $2 AND expires_at > $3

-- completions_up_sizes --
-- `tags` has an entry for each metadata pair, sorted, so that one pattern finds all requested pairs.
SELECT length(body) + length(metadata) FROM chat_completions
WHERE
    tenant = $1 AND seq > $2 AND expires_at > $3
    AND coalesce($4, model) IN (model, requested_model) AND tags LIKE $5
ORDER BY seq LIMIT $6

-- completions_down_sizes --
SELECT length(body) + length(metadata) FROM chat_completions
WHERE
    tenant = $1 AND seq < $2 AND expires_at > $3
    AND coalesce($4, model) IN (model, requested_model) AND tags LIKE $5
ORDER BY seq DESC LIMIT $6

-- completions_up --
SELECT id, body, model, requested_model, metadata, tenant, expires_at FROM chat_completions
WHERE
    tenant = $1 AND seq > $2 AND expires_at > $3
    AND coalesce($4, model) IN (model, requested_model) AND tags LIKE $5
ORDER BY seq LIMIT $6

-- completions_down --
SELECT id, body, model, requested_model, metadata, tenant, expires_at FROM chat_completions
WHERE
    tenant = $1 AND seq < $2 AND expires_at > $3
    AND coalesce($4, model) IN (model, requested_model) AND tags LIKE $5
ORDER BY seq DESC LIMIT $6

-- completion_message_up --
SELECT chat_completions.id || '-' || CAST(position AS TEXT), chat_completion_messages.body, NULL
FROM chat_completion_messages JOIN chat_completions ON chat_completions.seq = completion
WHERE completion = $1 AND position > $2 AND position < $3
ORDER BY position LIMIT $4

-- completion_message_down --
SELECT chat_completions.id || '-' || CAST(position AS TEXT), chat_completion_messages.body, NULL
FROM chat_completion_messages JOIN chat_completions ON chat_completions.seq = completion
WHERE completion = $1 AND position > $2 AND position < $3
ORDER BY position DESC LIMIT $4

-- completion_message_up_sizes --
SELECT length(body) FROM chat_completion_messages
WHERE completion = $1 AND position > $2 AND position < $3
ORDER BY position LIMIT $4

-- completion_message_down_sizes --
SELECT length(body) FROM chat_completion_messages
WHERE completion = $1 AND position > $2 AND position < $3
ORDER BY position DESC LIMIT $4

-- completion_message_place --
SELECT position FROM chat_completion_messages WHERE completion = $1 AND position = $2

-- purge_chat_completions --
DELETE FROM chat_completions
WHERE seq IN (SELECT seq FROM chat_completions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
RETURNING seq

-- count_chat_completions --
SELECT count(*) FROM chat_completions WHERE expires_at <= $1
