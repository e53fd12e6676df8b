-- put_facts --
-- A background response begins when it is queued. If the clock has gone back since, it began to run at that moment.
-- A changed row receives a new row number. One that had ended before stays in the sums as it is (64), or out of them until
-- they reach it: it is written again because the first write was not acknowledged.
INSERT INTO facts (
    id, tenant, began, ended, status, model, served_model, backend, key_id, flags, tools, queued, first, input_tokens,
    cached_tokens, output_tokens, reasoning_tokens, calls, attempts, error, previous_response_id, conversation_id,
    request_bytes, tags, input, output, cost, spans,
    bodies
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25, $26, $27, $28, $29
)
ON CONFLICT (id) DO UPDATE SET
    ended = CASE
        WHEN excluded.began < facts.began THEN excluded.ended + facts.began - excluded.began ELSE excluded.ended
    END,
    status = excluded.status, model = excluded.model, served_model = excluded.served_model,
    backend = excluded.backend, key_id = excluded.key_id, tools = excluded.tools,
    flags = CASE
        WHEN facts.ended IS NULL THEN excluded.flags ELSE (excluded.flags & ~64) | (facts.flags & 64)
    END,
    queued = excluded.queued + CASE WHEN excluded.began < facts.began THEN 0 ELSE excluded.began - facts.began END,
    first = excluded.first + CASE WHEN excluded.began < facts.began THEN 0 ELSE excluded.began - facts.began END,
    input_tokens = excluded.input_tokens, cached_tokens = excluded.cached_tokens,
    output_tokens = excluded.output_tokens, reasoning_tokens = excluded.reasoning_tokens, calls = excluded.calls,
    attempts = excluded.attempts, error = excluded.error, previous_response_id = excluded.previous_response_id,
    conversation_id = excluded.conversation_id, request_bytes = excluded.request_bytes, tags = excluded.tags,
    input = CASE WHEN excluded.input = '' THEN facts.input ELSE excluded.input END, output = excluded.output,
    cost = excluded.cost, spans = excluded.spans,
    bodies = excluded.bodies, seq = excluded.seq

-- ended_facts --
SELECT id FROM facts WHERE id = $1 AND ended IS NOT NULL

-- forget_words --
-- The flag marks the response as deleted.
UPDATE facts SET tags = '', input = '', output = '', spans = $3, bodies = $3, flags = flags | 32 WHERE id = $1 AND tenant = $2

-- load_spans --
SELECT spans FROM facts WHERE id = $1 AND tenant = $2

-- load_bodies --
SELECT bodies FROM facts WHERE id = $1 AND tenant = $2

-- id_of_facts --
-- Returns no row if the response was purged in the meantime; the list then ends.
SELECT id FROM facts WHERE seq = $1

-- ids_of_all_api_keys --
SELECT id FROM api_keys WHERE name = $1

-- ids_of_api_keys --
SELECT id FROM api_keys WHERE tenant = $1 AND name = $2

-- purge_facts --
DELETE FROM facts WHERE seq IN (SELECT seq FROM facts WHERE began <= CAST($1 AS BIGINT) * 1000 ORDER BY began LIMIT $2)
RETURNING seq

-- count_facts --
SELECT count(*) FROM facts WHERE began <= CAST($1 AS BIGINT) * 1000

-- newest_facts --
SELECT max(seq) FROM facts

-- summed --
SELECT until FROM summed

-- lock_summed --
SELECT until FROM summed FOR UPDATE SKIP LOCKED

-- set_summed --
UPDATE summed SET until = $1

-- first_unsummed --
SELECT min(began) FROM facts WHERE began >= $1

-- newest_ahead --
SELECT max(seq) FROM facts WHERE began >= $1

-- first_after --
SELECT min(began) FROM facts WHERE seq > $1

-- mark_summed --
UPDATE facts SET flags = flags | 64 WHERE seq IN (
    SELECT seq FROM facts
    WHERE began >= $1 AND began < $2 AND seq <= $3 AND (flags & 64) = 0 AND ended IS NOT NULL
    ORDER BY began LIMIT $4
)
RETURNING seq

-- place_of_unsummed --
SELECT began FROM facts WHERE began >= $1 ORDER BY began LIMIT 1 OFFSET $2

-- purge_minutes --
DELETE FROM sums WHERE (part, step, tenant, time, model, backend, key_id, status) IN (
    SELECT part, step, tenant, time, model, backend, key_id, status FROM sums
    WHERE step = 60 AND time <= $1 ORDER BY time LIMIT $2
)
RETURNING time

-- count_minutes --
SELECT count(*) FROM sums WHERE step = 60 AND time <= $1

-- purge_hours --
DELETE FROM sums WHERE (part, step, tenant, time, model, backend, key_id, status) IN (
    SELECT part, step, tenant, time, model, backend, key_id, status FROM sums
    WHERE step = 3600 AND time <= $1 ORDER BY time LIMIT $2
)
RETURNING time

-- count_hours --
SELECT count(*) FROM sums WHERE step = 3600 AND time <= $1

-- purge_four_hours --
DELETE FROM sums WHERE (part, step, tenant, time, model, backend, key_id, status) IN (
    SELECT part, step, tenant, time, model, backend, key_id, status FROM sums
    WHERE step = 14400 AND time <= $1 ORDER BY time LIMIT $2
)
RETURNING time

-- count_four_hours --
SELECT count(*) FROM sums WHERE step = 14400 AND time <= $1
