-- keep_file_text --
INSERT INTO file_texts (tenant, digest, version, kind, pages, is_cut, body, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant, digest) DO UPDATE SET
    version = excluded.version, kind = excluded.kind, pages = excluded.pages, is_cut = excluded.is_cut,
    body = excluded.body, expires_at = excluded.expires_at

-- find_file_text --
SELECT kind, pages, is_cut, body, expires_at FROM file_texts
WHERE tenant = $1 AND digest = $2 AND version = $3 AND expires_at > $4

-- purge_file_texts --
DELETE FROM file_texts
WHERE (tenant, digest) IN (SELECT tenant, digest FROM file_texts WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
RETURNING digest

-- count_file_texts --
SELECT count(*) FROM file_texts WHERE expires_at <= $1
