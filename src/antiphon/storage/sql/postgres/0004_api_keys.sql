-- API keys: who may ask, for what, and what it came to. Times are seconds, but for the levels' microseconds.

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    digest BYTEA NOT NULL UNIQUE,
    shown TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    old_digest BYTEA,
    old_until BIGINT NOT NULL,
    models TEXT NOT NULL,
    requests_per_minute BIGINT,
    tokens_per_minute BIGINT,
    tokens_per_day BIGINT,
    concurrency BIGINT,
    caches INTEGER NOT NULL
);
CREATE INDEX api_keys_by_old_digest ON api_keys (old_digest) WHERE old_digest IS NOT NULL;

CREATE TABLE api_key_levels (
    api_key TEXT PRIMARY KEY,
    requests_until BIGINT NOT NULL,
    tokens_until BIGINT NOT NULL,
    day BIGINT NOT NULL,
    day_tokens BIGINT NOT NULL
);

-- `day` is its first second.
CREATE TABLE api_key_days (
    tenant TEXT NOT NULL,
    day BIGINT NOT NULL,
    api_key TEXT NOT NULL,
    requests BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    PRIMARY KEY (tenant, day, api_key)
);

-- By which key a background response was asked for, and what was taken in advance.
ALTER TABLE jobs ADD COLUMN api_key TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN tokens_taken BIGINT NOT NULL DEFAULT 0;
