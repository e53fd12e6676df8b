-- put_vector_store --
INSERT INTO vector_stores (
    id, tenant, created_at, last_active_at, days, expires_at, name, description, metadata, embedding_model
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
RETURNING seq

-- find_vector_store --
SELECT
    id, tenant, created_at, name, description, metadata, days, last_active_at, expires_at, embedding_model,
    usage_bytes, chunks, in_progress, completed, failed, cancelled, seq
FROM vector_stores WHERE id = $1 AND tenant = $2

-- lock_vector_store --
-- Every change of a store or of its files begins with this statement, which prevents deadlocks.
SELECT
    id, tenant, created_at, name, description, metadata, days, last_active_at, expires_at, embedding_model,
    usage_bytes, chunks, in_progress, completed, failed, cancelled, seq
FROM vector_stores WHERE id = $1 AND tenant = $2 FOR UPDATE

-- vector_stores_up --
SELECT
    id, tenant, created_at, name, description, metadata, days, last_active_at, expires_at, embedding_model,
    usage_bytes, chunks, in_progress, completed, failed, cancelled, seq
FROM vector_stores WHERE tenant = $1 AND seq > $2 AND seq < $3 ORDER BY seq LIMIT $4

-- vector_stores_down --
SELECT
    id, tenant, created_at, name, description, metadata, days, last_active_at, expires_at, embedding_model,
    usage_bytes, chunks, in_progress, completed, failed, cancelled, seq
FROM vector_stores WHERE tenant = $1 AND seq > $2 AND seq < $3 ORDER BY seq DESC LIMIT $4

-- vector_store_place --
SELECT seq FROM vector_stores WHERE id = $1

-- vector_stores_of_all_up --
SELECT
    id, tenant, created_at, name, description, metadata, days, last_active_at, expires_at, embedding_model,
    usage_bytes, chunks, in_progress, completed, failed, cancelled, seq
FROM vector_stores WHERE seq > $1 AND seq < $2 ORDER BY seq LIMIT $3

-- vector_stores_of_all_down --
SELECT
    id, tenant, created_at, name, description, metadata, days, last_active_at, expires_at, embedding_model,
    usage_bytes, chunks, in_progress, completed, failed, cancelled, seq
FROM vector_stores WHERE seq > $1 AND seq < $2 ORDER BY seq DESC LIMIT $3

-- update_vector_store --
UPDATE vector_stores SET name = $2, description = $3, metadata = $4, days = $5, expires_at = $6 WHERE seq = $1

-- set_embedding_model --
UPDATE vector_stores SET embedding_model = $2 WHERE seq = $1

-- use_vector_store --
-- Written once a minute at most, which is precise enough for expiry times in days.
UPDATE vector_stores SET last_active_at = $3, expires_at = $3 + days * 86400
WHERE id = $1 AND tenant = $2 AND last_active_at <= $3 - 60 AND (expires_at IS NULL OR expires_at > $3)

-- delete_vector_store --
-- Also deletes its files and batches.
DELETE FROM vector_stores WHERE seq = $1

-- expired_vector_store --
-- An expired store that still has files.
SELECT id, tenant, seq FROM vector_stores
WHERE expires_at <= $1 AND in_progress + completed + failed + cancelled > 0
ORDER BY expires_at LIMIT 1 FOR UPDATE

-- count_vector_stores --
SELECT count(*) FROM vector_stores WHERE expires_at <= $1 AND in_progress + completed + failed + cancelled > 0

-- empty_vector_store --
DELETE FROM vector_store_files WHERE store = $1

-- store_file --
SELECT
    vector_stores.id, file_id, vector_store_files.tenant, filename, vector_store_files.created_at, status,
    error_code, error_message, attributes, chunk_tokens, overlap_tokens,
    vector_store_files.usage_bytes, vector_store_files.chunks, version, live_version, vector_store_files.seq
FROM vector_store_files JOIN vector_stores ON vector_stores.seq = store
WHERE store = $1 AND file_id = $2

-- store_files_up --
SELECT
    vector_stores.id, file_id, vector_store_files.tenant, filename, vector_store_files.created_at, status,
    error_code, error_message, attributes, chunk_tokens, overlap_tokens,
    vector_store_files.usage_bytes, vector_store_files.chunks, version, live_version, vector_store_files.seq
FROM vector_store_files JOIN vector_stores ON vector_stores.seq = store
WHERE
    store = $1 AND vector_store_files.seq > $2 AND vector_store_files.seq < $3
    AND status = coalesce($5, status)
ORDER BY vector_store_files.seq LIMIT $4

-- store_files_down --
SELECT
    vector_stores.id, file_id, vector_store_files.tenant, filename, vector_store_files.created_at, status,
    error_code, error_message, attributes, chunk_tokens, overlap_tokens,
    vector_store_files.usage_bytes, vector_store_files.chunks, version, live_version, vector_store_files.seq
FROM vector_store_files JOIN vector_stores ON vector_stores.seq = store
WHERE
    store = $1 AND vector_store_files.seq > $2 AND vector_store_files.seq < $3
    AND status = coalesce($5, status)
ORDER BY vector_store_files.seq DESC LIMIT $4

-- batch_files_up --
-- All of them belong to one store.
SELECT
    vector_stores.id, vector_store_files.file_id, vector_store_files.tenant, filename, vector_store_files.created_at,
    status, error_code, error_message, attributes, chunk_tokens, overlap_tokens,
    vector_store_files.usage_bytes, vector_store_files.chunks, version, live_version, vector_store_files.seq
FROM vector_store_batch_files
JOIN vector_store_batches ON vector_store_batches.seq = batch
JOIN vector_store_files
    ON
        vector_store_files.store = vector_store_batches.store
        AND vector_store_files.file_id = vector_store_batch_files.file_id
JOIN vector_stores ON vector_stores.seq = vector_store_files.store
WHERE
    batch = $1 AND vector_store_files.seq > $2 AND vector_store_files.seq < $3
    AND status = coalesce($5, status)
ORDER BY vector_store_files.seq LIMIT $4

-- batch_files_down --
SELECT
    vector_stores.id, vector_store_files.file_id, vector_store_files.tenant, filename, vector_store_files.created_at,
    status, error_code, error_message, attributes, chunk_tokens, overlap_tokens,
    vector_store_files.usage_bytes, vector_store_files.chunks, version, live_version, vector_store_files.seq
FROM vector_store_batch_files
JOIN vector_store_batches ON vector_store_batches.seq = batch
JOIN vector_store_files
    ON
        vector_store_files.store = vector_store_batches.store
        AND vector_store_files.file_id = vector_store_batch_files.file_id
JOIN vector_stores ON vector_stores.seq = vector_store_files.store
WHERE
    batch = $1 AND vector_store_files.seq > $2 AND vector_store_files.seq < $3
    AND status = coalesce($5, status)
ORDER BY vector_store_files.seq DESC LIMIT $4

-- attachable_file --
-- It cannot be deleted before the end of the transaction.
SELECT filename FROM files WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3) FOR UPDATE

-- put_store_file --
INSERT INTO vector_store_files (
    store, file_id, tenant, filename, created_at, status, attributes, chunk_tokens, overlap_tokens, api_key
)
VALUES ($1, $2, $3, $4, $5, 'in_progress', $6, $7, $8, $9)

-- set_file_attributes --
UPDATE vector_store_files SET attributes = $3 WHERE store = $1 AND file_id = $2

-- ingest_again --
-- Creates a new version: the worker of the old version can no longer write.
UPDATE vector_store_files
SET
    status = 'in_progress', version = version + 1, owner = NULL, lost = 0, chunk_tokens = $3, overlap_tokens = $4,
    error_code = NULL, error_message = NULL
WHERE store = $1 AND file_id = $2

-- ingest_all_again --
UPDATE vector_store_files
SET status = 'in_progress', version = version + 1, owner = NULL, lost = 0, error_code = NULL, error_message = NULL
WHERE store = $1
RETURNING seq

-- delete_store_file --
DELETE FROM vector_store_files WHERE store = $1 AND file_id = $2 RETURNING seq

-- lock_stores_of_file --
SELECT vector_stores.seq, vector_stores.id, vector_stores.tenant FROM vector_stores
WHERE vector_stores.seq IN (SELECT store FROM vector_store_files WHERE file_id = $1)
ORDER BY vector_stores.seq FOR UPDATE

-- expired_attached_files --
SELECT id FROM files
WHERE expires_at <= $1 AND EXISTS (SELECT 1 FROM vector_store_files WHERE vector_store_files.file_id = files.id)
ORDER BY expires_at LIMIT $2

-- put_store_batch --
INSERT INTO vector_store_batches (id, store, tenant, created_at, total) VALUES ($1, $2, $3, $4, $5) RETURNING seq

-- put_batch_file --
INSERT INTO vector_store_batch_files (batch, file_id) VALUES ($1, $2)

-- store_batch --
SELECT id, created_at, total, is_cancelled, seq FROM vector_store_batches WHERE id = $1 AND store = $2

-- batch_counts --
SELECT status, count(*) FROM vector_store_batch_files
JOIN vector_store_batches ON vector_store_batches.seq = batch
JOIN vector_store_files
    ON
        vector_store_files.store = vector_store_batches.store
        AND vector_store_files.file_id = vector_store_batch_files.file_id
WHERE batch = $1 GROUP BY status

-- cancel_batch_files --
UPDATE vector_store_files SET status = 'cancelled', version = version + 1, owner = NULL
WHERE
    store = $1 AND status = 'in_progress'
    AND file_id IN (SELECT file_id FROM vector_store_batch_files WHERE batch = $2)
RETURNING file_id, live_version

-- mark_batch_cancelled --
UPDATE vector_store_batches SET is_cancelled = 1 WHERE seq = $1

-- waiting_ingestion --
SELECT 1 FROM vector_store_files
WHERE status = 'in_progress' AND (owner IS NULL OR owner IN (SELECT id FROM workers WHERE expired = 1))
LIMIT 1

-- next_ingestion --
-- Like `next_waiting`: the queue is not scanned, the query skips from tenant to tenant. `$3` has the names of embedding
-- models with files that must wait, each between two line breaks; it is empty if there are none.
-- Among the first 500 files of each tenant only: thousands of waiting files must not block the writer.
WITH RECURSIVE expired (id) AS (
    SELECT id FROM workers WHERE expired = 1 AND id <> $1
),
tenants (tenant) AS (
    SELECT min(tenant) FROM vector_store_files WHERE status = 'in_progress' AND owner IS NULL
    UNION ALL
    SELECT (
        SELECT min(vector_store_files.tenant) FROM vector_store_files
        WHERE
            vector_store_files.status = 'in_progress' AND vector_store_files.owner IS NULL
            AND vector_store_files.tenant > tenants.tenant
    )
    FROM tenants WHERE tenants.tenant IS NOT NULL
),
claimable (tenant, seq, is_takeover) AS (
    SELECT
        tenants.tenant,
        (
            SELECT min(oldest.seq) FROM (
                SELECT vector_store_files.seq, vector_store_files.store FROM vector_store_files
                WHERE
                    vector_store_files.status = 'in_progress' AND vector_store_files.owner IS NULL
                    AND vector_store_files.tenant = tenants.tenant
                ORDER BY vector_store_files.seq LIMIT CASE WHEN $3 = '' THEN 1 ELSE 500 END
            ) AS oldest
            WHERE
                $3 = ''
                OR (
                    SELECT replace($3, '
' || vector_stores.embedding_model || '
', '') FROM vector_stores WHERE vector_stores.seq = oldest.store
                ) = $3
        ),
        0
    FROM tenants WHERE tenants.tenant IS NOT NULL
    UNION ALL
    SELECT tenant, min(seq), 1 FROM vector_store_files
    WHERE status = 'in_progress' AND owner IN (SELECT id FROM expired) GROUP BY tenant
),
running (tenant, busy, here) AS (
    SELECT tenant, count(*), sum(CASE WHEN owner = $1 THEN 1 ELSE 0 END) FROM vector_store_files
    WHERE status = 'in_progress' AND owner IS NOT NULL AND owner NOT IN (SELECT id FROM expired) GROUP BY tenant
)
SELECT claimable.seq, claimable.is_takeover
FROM claimable LEFT JOIN running ON running.tenant = claimable.tenant
WHERE coalesce(running.here, 0) < $2 AND claimable.seq IS NOT NULL
ORDER BY coalesce(running.busy, 0), claimable.seq
LIMIT 1

-- claim_ingestion --
UPDATE vector_store_files SET owner = $2, version = version + 1, lost = lost + $3
WHERE
    seq = $1 AND status = 'in_progress'
    AND (owner IS NULL OR owner IN (SELECT id FROM workers WHERE expired = 1))
RETURNING lost, (SELECT expired FROM workers WHERE workers.id = $2)

-- claimed_ingestion --
SELECT
    vector_stores.id, file_id, vector_store_files.tenant, filename, vector_store_files.created_at, status,
    error_code, error_message, attributes, chunk_tokens, overlap_tokens,
    vector_store_files.usage_bytes, vector_store_files.chunks, version, live_version, vector_store_files.seq,
    api_key, embedding_model
FROM vector_store_files JOIN vector_stores ON vector_stores.seq = store
WHERE vector_store_files.seq = $1

-- fence_ingestion --
-- No other transaction can change the file before the end of this one.
SELECT store FROM vector_store_files WHERE seq = $1 AND version = $2 AND status = 'in_progress' FOR UPDATE

-- complete_ingestion --
UPDATE vector_store_files
SET status = 'completed', owner = NULL, live_version = version, usage_bytes = $3, chunks = $4
WHERE seq = $1 AND version = $2 AND status = 'in_progress'
RETURNING seq

-- fail_ingestion --
UPDATE vector_store_files SET status = 'failed', owner = NULL, error_code = $3, error_message = $4
WHERE seq = $1 AND version = $2 AND status = 'in_progress'
RETURNING seq

-- release_ingestion --
UPDATE vector_store_files SET owner = NULL, version = version + 1
WHERE seq = $1 AND owner = $2 AND status = 'in_progress'
RETURNING seq

-- release_ingestions --
-- All files of a stopping worker.
UPDATE vector_store_files SET owner = NULL, version = version + 1
WHERE status = 'in_progress' AND owner = $1
RETURNING seq

-- owned_ingestions --
SELECT seq, version FROM vector_store_files WHERE status = 'in_progress' AND owner = $1
