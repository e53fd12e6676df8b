-- What the console needs: roles of API keys, its sessions with the one-time codes that begin them, and lists.
-- Times are seconds.

ALTER TABLE api_keys ADD COLUMN role TEXT NOT NULL DEFAULT 'use';
UPDATE api_keys SET role = 'admin' WHERE is_admin = 1;
ALTER TABLE api_keys DROP COLUMN is_admin;

-- `key_digest` is the digest of the key that signed in, and empty for a session that a one-time code began.
-- No statement that is made for a tenant sees a session or a code.
CREATE TABLE console_sessions (
    digest BYTEA PRIMARY KEY,
    key_id TEXT NOT NULL,
    key_digest BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX console_sessions_by_expiry ON console_sessions (expires_at);
CREATE INDEX console_sessions_by_key ON console_sessions (key_id, used_at, created_at);
ALTER TABLE console_sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY server ON console_sessions USING (current_setting('antiphon.tenant', true) = '*');

CREATE TABLE console_codes (
    digest BYTEA PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
ALTER TABLE console_codes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY server ON console_codes USING (current_setting('antiphon.tenant', true) = '*');

-- Lists of a tenant's conversations. An ID begins with the time, so its order is that of creation.
CREATE INDEX conversations_by_tenant ON conversations (tenant, id);
