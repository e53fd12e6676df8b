-- Secrets, the response cache, API keys with their limits, usage and budgets, and sessions of the console.

CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE answers (
    tenant TEXT NOT NULL,
    key BYTEA NOT NULL,
    body BYTEA NOT NULL,
    size BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX answers_by_use ON answers (used_at DESC, tenant, key, size);
CREATE INDEX answers_by_expiry ON answers (expires_at);
ALTER TABLE answers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON answers USING (antiphon_sees(tenant));

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
    caches INTEGER NOT NULL,
    budget_per_day BIGINT,
    budget_per_month BIGINT,
    role TEXT NOT NULL DEFAULT 'use'
);
CREATE INDEX api_keys_by_old_digest ON api_keys (old_digest) WHERE old_digest IS NOT NULL;
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON api_keys USING (antiphon_sees(tenant));

CREATE TABLE api_key_levels (
    api_key TEXT PRIMARY KEY,
    requests_until BIGINT NOT NULL,
    tokens_until BIGINT NOT NULL,
    day BIGINT NOT NULL,
    day_tokens BIGINT NOT NULL
);

CREATE TABLE api_key_days (
    tenant TEXT NOT NULL,
    day BIGINT NOT NULL,
    api_key TEXT NOT NULL,
    model TEXT NOT NULL,
    requests BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    PRIMARY KEY (tenant, day, api_key, model)
);
ALTER TABLE api_key_days ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON api_key_days USING (antiphon_sees(tenant));

CREATE TABLE tenant_budgets (
    tenant TEXT PRIMARY KEY,
    per_day BIGINT,
    per_month BIGINT
);
ALTER TABLE tenant_budgets ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON tenant_budgets USING (antiphon_sees(tenant));

CREATE TABLE budget_levels (
    tenant TEXT NOT NULL,
    api_key TEXT NOT NULL,
    day BIGINT NOT NULL,
    day_cost BIGINT NOT NULL,
    month_cost BIGINT NOT NULL,
    PRIMARY KEY (tenant, api_key)
);
ALTER TABLE budget_levels ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON budget_levels USING (antiphon_sees(tenant));

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
