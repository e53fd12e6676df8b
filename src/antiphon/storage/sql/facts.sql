-- put_facts --
-- A background response began when it was queued.
INSERT INTO facts (
    id, tenant, began, ended, status, model, served_model, backend, key_id, flags, tools, queued, first, input_tokens,
    cached_tokens, output_tokens, reasoning_tokens, calls, attempts, error, previous_response_id, conversation_id,
    request_bytes, tags, input, output, expires_at, spans
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25, $26, $27, $28
)
ON CONFLICT (id) DO UPDATE SET
    ended = excluded.ended, status = excluded.status, model = excluded.model, served_model = excluded.served_model,
    backend = excluded.backend, key_id = excluded.key_id, flags = excluded.flags, tools = excluded.tools,
    queued = excluded.queued + excluded.began - facts.began, first = excluded.first + excluded.began - facts.began,
    input_tokens = excluded.input_tokens, cached_tokens = excluded.cached_tokens,
    output_tokens = excluded.output_tokens, reasoning_tokens = excluded.reasoning_tokens, calls = excluded.calls,
    attempts = excluded.attempts, error = excluded.error, previous_response_id = excluded.previous_response_id,
    conversation_id = excluded.conversation_id, request_bytes = excluded.request_bytes, tags = excluded.tags,
    input = CASE WHEN excluded.input = '' THEN facts.input ELSE excluded.input END, output = excluded.output,
    expires_at = excluded.expires_at, spans = excluded.spans

-- forget_words --
-- The flag says that the response was deleted.
UPDATE facts SET tags = '', input = '', output = '', spans = $3, flags = flags | 32 WHERE id = $1 AND tenant = $2

-- load_spans --
SELECT spans FROM facts WHERE id = $1 AND tenant = $2 AND expires_at > $3

-- facts_place --
SELECT began, seq FROM facts WHERE id = $1 AND tenant = $2 AND expires_at > $3

-- id_of_facts --
-- No row where it was purged meanwhile: then nothing is behind it.
SELECT id FROM facts WHERE seq = $1

-- ids_of_api_keys --
SELECT id FROM api_keys WHERE tenant = $1 AND name = $2

-- purge_facts --
DELETE FROM facts WHERE seq IN (SELECT seq FROM facts WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
RETURNING seq

-- count_facts --
SELECT count(*) FROM facts WHERE expires_at <= $1
