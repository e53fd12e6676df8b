-- put_session --
INSERT INTO console_sessions (digest, key_id, key_digest, created_at, used_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)

-- trim_sessions --
DELETE FROM console_sessions
WHERE key_id = $1 AND digest NOT IN (
    SELECT digest FROM console_sessions WHERE key_id = $1 ORDER BY used_at DESC, created_at DESC LIMIT $2
)

-- find_session --
SELECT digest, key_id, key_digest, created_at, used_at, expires_at FROM console_sessions
WHERE digest = $1 AND expires_at > $2

-- touch_session --
-- A session that was deleted in the meantime stays deleted.
UPDATE console_sessions SET used_at = $2, expires_at = $3 WHERE digest = $1

-- delete_session --
DELETE FROM console_sessions WHERE digest = $1 RETURNING digest

-- put_code --
INSERT INTO console_codes (digest, expires_at) VALUES ($1, $2)

-- redeem_code --
DELETE FROM console_codes WHERE digest = $1 AND expires_at > $2 RETURNING digest

-- purge_sessions --
DELETE FROM console_sessions
WHERE digest IN (SELECT digest FROM console_sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
RETURNING digest

-- count_sessions --
SELECT count(*) FROM console_sessions WHERE expires_at <= $1

-- purge_codes --
DELETE FROM console_codes WHERE digest IN (SELECT digest FROM console_codes WHERE expires_at <= $1 LIMIT $2)
RETURNING digest

-- count_codes --
SELECT count(*) FROM console_codes WHERE expires_at <= $1
