-- put_response --
-- For a single response; the writers insert many of them with one statement.
INSERT INTO responses (
    id, previous_response_id, created_at, status, body, tenant,
    conversation_id, conversation_end, expires_at, is_stored, is_streamed, item_count, item_bytes
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
RETURNING seq

-- put_item --
-- The input first, then the output; `position` counts both together.
INSERT INTO items (response, position, is_output, id, sealed, body)
VALUES ($1, $2, $3, $4, $5, $6)

-- forget --
-- Runs before the same id is inserted again; also deletes its items.
DELETE FROM responses WHERE id = $1

-- load --
-- One row per item. A single row without items if there are none, or if they are too many or too large to read at once.
-- Only the first row has the response's body, because it can be large; no row has it if it has more than $6 bytes.
SELECT
    responses.id, responses.created_at, responses.status, responses.previous_response_id,
    CASE WHEN coalesce(items.position, 0) = 0 AND length(responses.body) <= $6 THEN responses.body END,
    responses.tenant, responses.conversation_id, responses.conversation_end, responses.expires_at,
    responses.is_stored, responses.is_streamed,
    items.is_output, items.id, items.body, items.sealed,
    responses.seq, responses.item_count, responses.item_bytes
FROM responses LEFT JOIN items
    ON items.response = CASE WHEN responses.item_count <= $4 AND responses.item_bytes <= $5 THEN responses.seq END
WHERE responses.id = $1 AND responses.tenant = $2 AND (responses.expires_at IS NULL OR responses.expires_at > $3)
ORDER BY items.position

-- load_items --
SELECT is_output, id, body, sealed FROM items WHERE response = $1 ORDER BY position

-- delete --
-- Also deletes its items and events. Responses that have it as their parent are unchanged.
DELETE FROM responses
WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)
RETURNING seq

-- history --
-- All responses on the way up, with their items, in the order of storage. The caller links parents to children.
-- UNION instead of UNION ALL, so that a cycle ends the walk.
WITH RECURSIVE chain (seq, parent) AS (
    SELECT seq, previous_response_id FROM responses
    WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)
    UNION
    SELECT responses.seq, responses.previous_response_id
    FROM chain JOIN responses ON responses.id = chain.parent
    WHERE responses.tenant = $2 AND (responses.expires_at IS NULL OR responses.expires_at > $3)
)
SELECT
    responses.id, responses.previous_response_id, responses.conversation_id, responses.conversation_end,
    items.id, items.body, items.sealed
FROM responses LEFT JOIN items ON items.response = responses.seq
WHERE responses.seq IN (SELECT seq FROM chain)
ORDER BY responses.seq, items.position

-- history_extent --
-- The size of the result of `history`: responses, items and their bytes.
WITH RECURSIVE chain (seq, parent, item_count, item_bytes) AS (
    SELECT seq, previous_response_id, item_count, item_bytes FROM responses
    WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)
    UNION
    SELECT responses.seq, responses.previous_response_id, responses.item_count, responses.item_bytes
    FROM chain JOIN responses ON responses.id = chain.parent
    WHERE responses.tenant = $2 AND (responses.expires_at IS NULL OR responses.expires_at > $3)
)
SELECT count(*), CAST(coalesce(sum(item_count), 0) AS BIGINT), CAST(coalesce(sum(item_bytes), 0) AS BIGINT) FROM chain

-- measure_chain --
-- The number of responses on the way up, when the first of them expires, and how many have a parent: all but the head.
-- Only the head can belong to a conversation. A cycle ends at the maximum number of counted responses.
WITH RECURSIVE chain (parent, conversation, conversation_end, expires_at, item_count, item_bytes) AS (
    SELECT previous_response_id, conversation_id, conversation_end, expires_at, item_count, item_bytes FROM responses
    WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)
    UNION ALL
    SELECT
        responses.previous_response_id, responses.conversation_id, responses.conversation_end, responses.expires_at,
        responses.item_count, responses.item_bytes
    FROM chain JOIN responses ON responses.id = chain.parent
    WHERE responses.tenant = $2 AND (responses.expires_at IS NULL OR responses.expires_at > $3)
)
SELECT
    count(*), max(conversation), max(conversation_end), min(expires_at), count(parent),
    CAST(coalesce(sum(item_count), 0) AS BIGINT), CAST(coalesce(sum(item_bytes), 0) AS BIGINT)
FROM (SELECT parent, conversation, conversation_end, expires_at, item_count, item_bytes FROM chain LIMIT $4) AS counted

-- steps_up --
-- At most $4 responses of a chain, newest first, and the tenant's mark, which each deletion changes.
WITH RECURSIVE chain (step, id, parent, conversation, conversation_end, expires_at, item_count, item_bytes) AS (
    SELECT 1, id, previous_response_id, conversation_id, conversation_end, expires_at, item_count, item_bytes
    FROM responses
    WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)
    UNION ALL
    SELECT
        chain.step + 1, responses.id, responses.previous_response_id, responses.conversation_id,
        responses.conversation_end, responses.expires_at, responses.item_count, responses.item_bytes
    FROM chain JOIN responses ON responses.id = chain.parent
    WHERE responses.tenant = $2 AND (responses.expires_at IS NULL OR responses.expires_at > $3) AND chain.step < $4
)
SELECT
    id, parent, conversation, conversation_end, expires_at, item_count, item_bytes,
    (SELECT CAST(coalesce(sum(deletion_mark), 0) AS BIGINT) FROM tenant_sizes WHERE tenant = $2)
FROM chain ORDER BY step

-- page_head --
-- The columns of a response that are needed to list its complete input.
SELECT seq, previous_response_id, conversation_id, conversation_end, item_bytes FROM responses
WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)

-- last_input --
SELECT position FROM items WHERE response = $1 AND is_output = 0 ORDER BY position DESC LIMIT 1

-- walk_up --
-- A limited number of responses of a chain, newest first, each with the positions of two items in it: the first
-- occurrence, counted upwards ($5 is 1) or downwards (-1).
WITH RECURSIVE chain (step, seq, parent, conversation, conversation_end, item_bytes) AS (
    SELECT 1, seq, previous_response_id, conversation_id, conversation_end, item_bytes FROM responses
    WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)
    UNION ALL
    SELECT
        chain.step + 1, responses.seq, responses.previous_response_id, responses.conversation_id,
        responses.conversation_end, responses.item_bytes
    FROM chain JOIN responses ON responses.id = chain.parent
    WHERE responses.tenant = $2 AND (responses.expires_at IS NULL OR responses.expires_at > $3) AND chain.step < $4
)
SELECT
    seq, parent, conversation, conversation_end, item_bytes,
    (SELECT min(items.position * $5) FROM items WHERE items.response = chain.seq AND items.id = $6) * $5,
    (SELECT min(items.position * $5) FROM items WHERE items.response = chain.seq AND items.id = $7) * $5
FROM chain ORDER BY step

-- place_in --
SELECT min(position * $3) * $3 FROM items WHERE response = $1 AND id = $2 AND is_output = 0

-- items_up --
SELECT id, body, sealed FROM items WHERE response = $1 AND position > $2 AND position < $3 ORDER BY position LIMIT $4

-- items_down --
SELECT id, body, sealed FROM items WHERE response = $1 AND position > $2 AND position < $3
ORDER BY position DESC LIMIT $4

-- items_up_sizes --
SELECT length(body) + coalesce(length(sealed), 0) FROM items
WHERE response = $1 AND position > $2 AND position < $3 ORDER BY position LIMIT $4

-- items_down_sizes --
SELECT length(body) + coalesce(length(sealed), 0) FROM items
WHERE response = $1 AND position > $2 AND position < $3 ORDER BY position DESC LIMIT $4

-- conversation_before --
-- The items of a conversation before one of its responses ran.
SELECT conversation_items.id, conversation_items.body, conversation_items.sealed
FROM conversation_items JOIN conversations ON conversations.id = conversation_items.conversation
WHERE conversations.id = $1 AND conversations.tenant = $2 AND position < $3
ORDER BY position

-- before_extent --
-- The number and bytes of the items of a conversation before a position.
SELECT count(*), CAST(coalesce(sum(length(body) + coalesce(length(sealed), 0)), 0) AS BIGINT) FROM conversation_items
WHERE conversation = $1 AND position < $2

-- find_item --
-- The item stored first, if clients sent copies of it. Only its size, if that is more than $4.
SELECT
    items.id,
    CASE WHEN length(items.body) + coalesce(length(items.sealed), 0) <= $4 THEN items.body END,
    CASE WHEN length(items.body) + coalesce(length(items.sealed), 0) <= $4 THEN items.sealed END,
    length(items.body) + coalesce(length(items.sealed), 0)
FROM items JOIN responses ON responses.seq = items.response
WHERE
    items.id = $1 AND responses.tenant = $2 AND responses.is_stored = 1
    AND (responses.expires_at IS NULL OR responses.expires_at > $3)
ORDER BY items.response, items.position LIMIT 1

-- find_conversation_item --
SELECT
    conversation_items.id,
    CASE WHEN length(body) + coalesce(length(sealed), 0) <= $3 THEN body END,
    CASE WHEN length(body) + coalesce(length(sealed), 0) <= $3 THEN sealed END,
    length(body) + coalesce(length(sealed), 0)
FROM conversation_items JOIN conversations ON conversations.id = conversation_items.conversation
WHERE conversation_items.id = $1 AND conversations.tenant = $2
LIMIT 1

-- purge_responses --
-- A limited number of rows, so that saves do not wait for a large purge. Unfinished jobs are not deleted.
DELETE FROM responses
WHERE seq IN (
    SELECT seq FROM responses WHERE expires_at <= $1 AND seq NOT IN (SELECT response FROM jobs)
    ORDER BY expires_at LIMIT $2
)
RETURNING seq

-- count_responses --
SELECT count(*) FROM responses WHERE expires_at <= $1 AND seq NOT IN (SELECT response FROM jobs)

-- purge_total --
-- Responses and completions are numbered in the order of storage, so this is an inexpensive estimate of their number.
SELECT
    coalesce((SELECT max(seq) FROM responses) - (SELECT min(seq) FROM responses) + 1, 0)
    + coalesce((SELECT max(seq) FROM chat_completions) - (SELECT min(seq) FROM chat_completions) + 1, 0)

-- purge_size --
-- Counts no further than one more than a purge may delete.
SELECT count(*) FROM (
    SELECT 1 FROM responses
    WHERE expires_at <= $1 AND is_stored = 1 AND seq NOT IN (SELECT response FROM jobs)
    UNION ALL
    SELECT 1 FROM chat_completions WHERE expires_at <= $1
    LIMIT $2
) AS counted

-- purge_keys --
DELETE FROM idempotency_keys
WHERE (tenant, key) IN (SELECT tenant, key FROM idempotency_keys WHERE created_at <= $1 ORDER BY created_at LIMIT $2)
RETURNING key

-- count_keys --
SELECT count(*) FROM idempotency_keys WHERE created_at <= $1

-- purge_deliveries --
DELETE FROM webhook_deliveries
WHERE id IN (SELECT id FROM webhook_deliveries WHERE failed_at <= $1 LIMIT $2)
RETURNING id

-- count_deliveries --
SELECT count(*) FROM webhook_deliveries WHERE failed_at <= $1

-- counts --
SELECT
    (SELECT count(*) FROM responses), (SELECT count(*) FROM items), (SELECT count(*) FROM events),
    (SELECT count(*) FROM jobs), (SELECT count(*) FROM conversations), (SELECT count(*) FROM conversation_items),
    (SELECT count(*) FROM chat_completions), (SELECT count(*) FROM facts),
    (SELECT count(*) FROM idempotency_keys), (SELECT count(*) FROM webhook_deliveries),
    (SELECT count(*) FROM answers), (SELECT count(*) FROM api_keys), (SELECT count(*) FROM files)
