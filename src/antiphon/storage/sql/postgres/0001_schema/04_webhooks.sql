-- Webhooks.

CREATE TABLE webhook_endpoints (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    url TEXT NOT NULL,
    event_types TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    secret TEXT NOT NULL,
    old_secret TEXT,
    old_secret_until BIGINT NOT NULL
);
CREATE INDEX webhook_endpoints_by_tenant ON webhook_endpoints (tenant);
ALTER TABLE webhook_endpoints ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON webhook_endpoints USING (antiphon_sees(tenant));

CREATE TABLE webhook_deliveries (
    id TEXT PRIMARY KEY,
    endpoint TEXT NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    body BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    failed_at BIGINT,
    last_error TEXT NOT NULL
);
CREATE INDEX webhook_deliveries_by_endpoint ON webhook_deliveries (endpoint);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at) WHERE failed_at IS NULL;
CREATE INDEX webhook_deliveries_in_turn ON webhook_deliveries (endpoint, due_at) WHERE failed_at IS NULL;
ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON webhook_deliveries USING (
    EXISTS (SELECT 1 FROM webhook_endpoints WHERE webhook_endpoints.id = webhook_deliveries.endpoint)
);
