-- reserve_files --
-- Returns no row if one more file of $2 bytes would exceed the quota.
INSERT INTO tenant_files (tenant, files, bytes) VALUES ($1, 1, $2)
ON CONFLICT (tenant) DO UPDATE SET files = tenant_files.files + 1, bytes = tenant_files.bytes + excluded.bytes
WHERE tenant_files.files < $3 AND tenant_files.bytes + excluded.bytes <= $4
RETURNING files

-- file_use --
SELECT files, bytes FROM tenant_files WHERE tenant = $1

-- put_file --
INSERT INTO files (id, tenant, filename, purpose, size, digest, blob, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- load_file --
SELECT id, tenant, filename, purpose, size, digest, blob, created_at, expires_at FROM files
WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)

-- delete_file --
DELETE FROM files WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)
RETURNING id

-- file_place --
SELECT seq FROM files WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)

-- files_up --
SELECT id, tenant, filename, purpose, size, digest, blob, created_at, expires_at FROM files
WHERE
    tenant = $1 AND seq > $2 AND seq < $3
    AND (expires_at IS NULL OR expires_at > $5) AND purpose = coalesce($6, purpose)
ORDER BY seq LIMIT $4

-- files_down --
SELECT id, tenant, filename, purpose, size, digest, blob, created_at, expires_at FROM files
WHERE
    tenant = $1 AND seq > $2 AND seq < $3
    AND (expires_at IS NULL OR expires_at > $5) AND purpose = coalesce($6, purpose)
ORDER BY seq DESC LIMIT $4

-- file_place_of_all --
SELECT seq FROM files WHERE id = $1 AND (expires_at IS NULL OR expires_at > $2)

-- files_of_all_up --
SELECT id, tenant, filename, purpose, size, digest, blob, created_at, expires_at FROM files
WHERE seq > $1 AND seq < $2 AND (expires_at IS NULL OR expires_at > $4) AND purpose = coalesce($5, purpose)
ORDER BY seq LIMIT $3

-- files_of_all_down --
SELECT id, tenant, filename, purpose, size, digest, blob, created_at, expires_at FROM files
WHERE seq > $1 AND seq < $2 AND (expires_at IS NULL OR expires_at > $4) AND purpose = coalesce($5, purpose)
ORDER BY seq DESC LIMIT $3

-- purge_files --
-- `expired_attached_files` first removes files from vector stores. A file that expired since then is purged next time.
DELETE FROM files WHERE seq IN (
    SELECT seq FROM files
    WHERE expires_at <= $1
        AND NOT EXISTS (SELECT 1 FROM vector_store_files WHERE vector_store_files.file_id = files.id)
    ORDER BY expires_at LIMIT $2
)
RETURNING seq

-- count_files --
SELECT count(*) FROM files WHERE expires_at <= $1

-- begin_blob --
INSERT INTO blobs (id, tenant, uses, stale_at) VALUES ($1, $2, 0, $3)

-- share_blob --
-- Only for files of the same tenant, so that no tenant can detect the content of others.
UPDATE blobs SET uses = uses + 1
WHERE id = (SELECT id FROM blobs WHERE tenant = $1 AND digest = $2 AND uses > 0 LIMIT 1) AND uses > 0
RETURNING id

-- use_blob --
UPDATE blobs SET uses = 1, digest = $3 WHERE id = $1 AND tenant = $2 AND uses = 0
RETURNING id

-- spare_blob --
UPDATE blobs SET stale_at = 0 WHERE id = $1 AND tenant = $2 AND uses = 0

-- claim_stale_blobs --
-- A use count of -1 prevents new uses. If the claiming process dies, another process can claim the blob later.
UPDATE blobs SET uses = -1
WHERE
    id IN (SELECT id FROM blobs WHERE uses <= 0 AND stale_at <= $1 ORDER BY stale_at LIMIT $2)
    AND uses <= 0 AND stale_at <= $1
RETURNING id

-- forget_blob --
DELETE FROM blobs WHERE id = $1 AND uses = -1

-- postpone_blob --
UPDATE blobs SET stale_at = $2 WHERE id = $1 AND uses = -1

-- put_blob_part --
INSERT INTO blob_parts (blob, number, data) VALUES ($1, $2, $3)

-- blob_part --
SELECT data FROM blob_parts WHERE blob = $1 AND number = $2

-- delete_blob_parts --
DELETE FROM blob_parts
WHERE blob = $1 AND number IN (SELECT number FROM blob_parts WHERE blob = $1 ORDER BY number LIMIT $2)
RETURNING number

-- put_upload --
INSERT INTO uploads (id, tenant, filename, purpose, size, mime_type, created_at, expires_at, lifetime)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- load_upload --
SELECT
    id, tenant, filename, purpose, size, mime_type, created_at, expires_at, lifetime,
    CASE WHEN status = 'pending' AND expires_at <= $3 THEN 'expired' ELSE status END, file
FROM uploads WHERE id = $1 AND tenant = $2

-- grow_upload --
-- This also locks the upload's row, so that concurrent parts are counted one after the other.
UPDATE uploads SET received = received + $3
WHERE
    id = $1 AND tenant = $2 AND status = 'pending' AND expires_at > $4 AND received + $3 <= size
    AND $5 > (SELECT count(*) FROM (SELECT 1 FROM upload_parts WHERE upload = $1 LIMIT $5) AS found)
RETURNING received

-- put_upload_part --
INSERT INTO upload_parts (id, upload, tenant, size, blob, created_at) VALUES ($1, $2, $3, $4, $5, $6)

-- upload_parts --
SELECT id, tenant, upload, size, blob, created_at FROM upload_parts WHERE upload = $1 AND tenant = $2
ORDER BY seq

-- end_upload --
UPDATE uploads SET status = $4, file = $5
WHERE id = $1 AND tenant = $2 AND status = 'pending' AND expires_at > $3
RETURNING id

-- purge_pending_uploads --
-- Their parts and reservations are deleted immediately; the row remains for a day, so that clients see the status.
UPDATE uploads SET status = 'expired'
WHERE seq IN (SELECT seq FROM uploads WHERE status = 'pending' AND expires_at <= $1 LIMIT $2)
RETURNING seq

-- count_pending_uploads --
SELECT count(*) FROM uploads WHERE status = 'pending' AND expires_at <= $1

-- purge_uploads --
DELETE FROM uploads WHERE seq IN (SELECT seq FROM uploads WHERE expires_at <= $1 AND status <> 'pending' LIMIT $2)
RETURNING seq

-- count_uploads --
SELECT count(*) FROM uploads WHERE expires_at <= $1 AND status <> 'pending'
