-- Tenants, expiry, conversations, background jobs with their events, idempotency keys, webhooks.

ALTER TABLE responses ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE responses ADD COLUMN conversation_id TEXT;
ALTER TABLE responses ADD COLUMN conversation_end INTEGER;
ALTER TABLE responses ADD COLUMN expires_at INTEGER;
ALTER TABLE responses ADD COLUMN is_stored INTEGER NOT NULL DEFAULT 1;
ALTER TABLE responses ADD COLUMN is_streamed INTEGER NOT NULL DEFAULT 0;
-- How often half-made events were dropped.
ALTER TABLE responses ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
-- What was kept before stays for the 30 days that were the default.
UPDATE responses SET expires_at = created_at + 2592000;
DROP INDEX responses_by_age;
CREATE INDEX responses_by_expiry ON responses (expires_at);

CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    beat INTEGER NOT NULL
) WITHOUT ROWID;
-- It stands for the queue.
INSERT INTO workers (id, beat) VALUES ('', 0);

-- A job without owner waits. Rows are few: a job goes when its response has ended.
CREATE TABLE jobs (
    response INTEGER PRIMARY KEY REFERENCES responses (seq) ON DELETE CASCADE,
    tenant TEXT NOT NULL,
    owner TEXT,
    version INTEGER NOT NULL,
    next_number INTEGER NOT NULL,
    kept_number INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    request BLOB NOT NULL
);
CREATE INDEX jobs_by_owner ON jobs (owner, tenant, response);

CREATE TABLE events (
    response INTEGER NOT NULL REFERENCES responses (seq) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    last INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (response, number)
) WITHOUT ROWID;

-- `holder` is the response that writes to it, `owner` the worker that makes that one in the foreground.
CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    metadata BLOB NOT NULL,
    next_position INTEGER NOT NULL,
    holder TEXT,
    owner TEXT
) WITHOUT ROWID;
CREATE INDEX conversations_by_owner ON conversations (owner) WHERE owner IS NOT NULL;

CREATE TABLE conversation_items (
    conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    sealed TEXT,
    body BLOB NOT NULL,
    PRIMARY KEY (conversation, position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX conversation_items_by_id ON conversation_items (id, conversation);

CREATE TABLE idempotency_keys (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    response_id TEXT NOT NULL,
    owner TEXT,
    created_at INTEGER NOT NULL,
    is_stream INTEGER,
    reply BLOB,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_by_owner ON idempotency_keys (owner) WHERE owner IS NOT NULL;

CREATE TABLE webhook_endpoints (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    url TEXT NOT NULL,
    event_types TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    secret TEXT NOT NULL,
    old_secret TEXT,
    old_secret_until INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX webhook_endpoints_by_tenant ON webhook_endpoints (tenant);

CREATE TABLE webhook_deliveries (
    id TEXT PRIMARY KEY,
    endpoint TEXT NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    failed_at INTEGER,
    last_error TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX webhook_deliveries_by_endpoint ON webhook_deliveries (endpoint);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at) WHERE failed_at IS NULL;
