-- API keys: who may ask, for what, and what it came to. Times are seconds, but for the levels' microseconds.

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    shown TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    old_digest BLOB,
    old_until INTEGER NOT NULL,
    models TEXT NOT NULL,
    requests_per_minute INTEGER,
    tokens_per_minute INTEGER,
    tokens_per_day INTEGER,
    concurrency INTEGER,
    caches INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX api_keys_by_old_digest ON api_keys (old_digest) WHERE old_digest IS NOT NULL;

CREATE TABLE api_key_levels (
    api_key TEXT PRIMARY KEY,
    requests_until INTEGER NOT NULL,
    tokens_until INTEGER NOT NULL,
    day INTEGER NOT NULL,
    day_tokens INTEGER NOT NULL
) WITHOUT ROWID;

-- `day` is its first second.
CREATE TABLE api_key_days (
    tenant TEXT NOT NULL,
    day INTEGER NOT NULL,
    api_key TEXT NOT NULL,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, api_key)
) WITHOUT ROWID;

-- By which key a background response was asked for, and what was taken in advance.
ALTER TABLE jobs ADD COLUMN api_key TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN tokens_taken INTEGER NOT NULL DEFAULT 0;
