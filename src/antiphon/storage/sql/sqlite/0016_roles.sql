-- What the console needs: roles of API keys, its sessions with the one-time codes that begin them, and lists.
-- Times are seconds.

ALTER TABLE api_keys ADD COLUMN role TEXT NOT NULL DEFAULT 'use';
UPDATE api_keys SET role = 'admin' WHERE is_admin = 1;
ALTER TABLE api_keys DROP COLUMN is_admin;

-- `key_digest` is the digest of the key that signed in, and empty for a session that a one-time code began.
CREATE TABLE console_sessions (
    digest BLOB PRIMARY KEY,
    key_id TEXT NOT NULL,
    key_digest BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX console_sessions_by_expiry ON console_sessions (expires_at);
CREATE INDEX console_sessions_by_key ON console_sessions (key_id, used_at, created_at);

CREATE TABLE console_codes (
    digest BLOB PRIMARY KEY,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Lists of a tenant's conversations. An ID begins with the time, so its order is that of creation.
CREATE INDEX conversations_by_tenant ON conversations (tenant, id);
