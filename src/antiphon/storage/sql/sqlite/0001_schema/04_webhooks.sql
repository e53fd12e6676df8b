-- Webhooks.
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
-- The next deliveries of one endpoint, however many wait for the others.
CREATE INDEX webhook_deliveries_in_turn ON webhook_deliveries (endpoint, due_at) WHERE failed_at IS NULL;
