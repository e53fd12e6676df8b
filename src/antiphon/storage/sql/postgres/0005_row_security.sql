-- A second wall between tenants: whatever a statement says, it sees the rows of one tenant alone.
--
-- Whose they are is told by the setting `antiphon.tenant`: `=` and the tenant's name, or `*` for the work that is done for
-- all of them. Where nothing is told nothing is seen. The tables' owner is held to it too; superusers never are.
--
-- `items` and `events` have no wall of their own: their rows are found by a number that only their response's row tells.
-- Nor has `api_key_levels`, which holds no more than how far a key's limits are used up.

CREATE FUNCTION antiphon_sees(tenant TEXT) RETURNS BOOLEAN LANGUAGE SQL STABLE PARALLEL SAFE AS $$
    SELECT current_setting('antiphon.tenant', true) = '*' OR tenant = substr(current_setting('antiphon.tenant', true), 2)
$$;

ALTER TABLE responses ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON responses USING (antiphon_sees(tenant));

ALTER TABLE jobs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON jobs USING (antiphon_sees(tenant));

ALTER TABLE conversations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON conversations USING (antiphon_sees(tenant));

ALTER TABLE conversation_items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON conversation_items USING (
    EXISTS (SELECT 1 FROM conversations WHERE conversations.id = conversation_items.conversation)
);

ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON idempotency_keys USING (antiphon_sees(tenant));

ALTER TABLE webhook_endpoints ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON webhook_endpoints USING (antiphon_sees(tenant));

ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON webhook_deliveries USING (
    EXISTS (SELECT 1 FROM webhook_endpoints WHERE webhook_endpoints.id = webhook_deliveries.endpoint)
);

ALTER TABLE answers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON answers USING (antiphon_sees(tenant));

ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON api_keys USING (antiphon_sees(tenant));

ALTER TABLE api_key_days ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON api_key_days USING (antiphon_sees(tenant));
