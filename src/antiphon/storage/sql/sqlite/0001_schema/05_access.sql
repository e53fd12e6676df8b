-- What the servers of one store share, and no one else may know.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- The response cache. The key is a digest of everything that was asked.
CREATE TABLE answers (
    tenant TEXT NOT NULL,
    key BLOB NOT NULL,
    body BLOB NOT NULL,
    size INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX answers_by_use ON answers (used_at DESC, tenant, key, size);
CREATE INDEX answers_by_expiry ON answers (expires_at);

-- API keys: their rights, limits, usage and budgets. Amounts are nano-units of the operator's currency.
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
    caches INTEGER NOT NULL,
    budget_per_day INTEGER,
    budget_per_month INTEGER,
    role TEXT NOT NULL DEFAULT 'use'
) WITHOUT ROWID;
CREATE INDEX api_keys_by_old_digest ON api_keys (old_digest) WHERE old_digest IS NOT NULL;

-- How far the limits of a key are used up. The times are microseconds.
CREATE TABLE api_key_levels (
    api_key TEXT PRIMARY KEY,
    requests_until INTEGER NOT NULL,
    tokens_until INTEGER NOT NULL,
    day INTEGER NOT NULL,
    day_tokens INTEGER NOT NULL
) WITHOUT ROWID;

-- Usage. `day` is its first second.
CREATE TABLE api_key_days (
    tenant TEXT NOT NULL,
    day INTEGER NOT NULL,
    api_key TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, api_key, model)
) WITHOUT ROWID;

CREATE TABLE tenant_budgets (
    tenant TEXT PRIMARY KEY,
    per_day INTEGER,
    per_month INTEGER
) WITHOUT ROWID;

-- What was spent and reserved of a key's budget in a day, and spent in its month before; under an empty `api_key` of the
-- budget of its tenant.
CREATE TABLE budget_levels (
    tenant TEXT NOT NULL,
    api_key TEXT NOT NULL,
    day INTEGER NOT NULL,
    day_cost INTEGER NOT NULL,
    month_cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, api_key)
) WITHOUT ROWID;

-- Sessions of the console. `key_digest` is the digest of the key that signed in, and empty for a session that a one-time
-- code began.
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
