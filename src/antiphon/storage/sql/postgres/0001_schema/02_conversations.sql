CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    metadata BYTEA NOT NULL,
    next_position BIGINT NOT NULL,
    holder TEXT,
    owner TEXT,
    item_count BIGINT NOT NULL DEFAULT 0,
    item_bytes BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX conversations_by_owner ON conversations (owner) WHERE owner IS NOT NULL;
CREATE INDEX conversations_by_tenant ON conversations (tenant, id);
ALTER TABLE conversations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON conversations USING (antiphon_sees(tenant));

CREATE FUNCTION antiphon_conversation_size() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    before BIGINT := CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE length(OLD.metadata) + OLD.item_bytes END;
    after BIGINT := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE length(NEW.metadata) + NEW.item_bytes END;
BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes)
    VALUES (coalesce(NEW.tenant, OLD.tenant), pg_backend_pid() % 16, after - before)
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER sizes AFTER INSERT OR DELETE OR UPDATE OF metadata, item_bytes ON conversations
    FOR EACH ROW EXECUTE FUNCTION antiphon_conversation_size();

CREATE TABLE conversation_items (
    conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    id TEXT NOT NULL,
    sealed BYTEA,
    body BYTEA NOT NULL,
    PRIMARY KEY (conversation, position)
);
CREATE UNIQUE INDEX conversation_items_by_id ON conversation_items (id, conversation);
ALTER TABLE conversation_items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON conversation_items USING (
    EXISTS (SELECT 1 FROM conversations WHERE conversations.id = conversation_items.conversation)
);

-- The requests with an `Idempotency-Key`. A key is reserved without a reply.
CREATE TABLE idempotency_keys (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    response_id TEXT NOT NULL,
    owner TEXT,
    created_at BIGINT NOT NULL,
    is_stream INTEGER,
    reply BYTEA,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_by_owner ON idempotency_keys (owner) WHERE owner IS NOT NULL;
ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON idempotency_keys USING (antiphon_sees(tenant));

CREATE FUNCTION antiphon_reply_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes) VALUES (
        NEW.tenant, pg_backend_pid() % 16, coalesce(length(NEW.reply), 0) - coalesce(length(OLD.reply), 0)
    )
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER sizes_changed AFTER UPDATE OF reply ON idempotency_keys FOR EACH ROW
    WHEN (NEW.reply IS NOT NULL OR OLD.reply IS NOT NULL) EXECUTE FUNCTION antiphon_reply_changed();

-- Keys of many tenants are deleted at once, so their bytes are added up in one order.
CREATE FUNCTION antiphon_replies_deleted() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes)
    SELECT tenant, pg_backend_pid() % 16, -sum(length(reply)) FROM changed
    WHERE reply IS NOT NULL GROUP BY tenant ORDER BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER sizes_deleted AFTER DELETE ON idempotency_keys REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION antiphon_replies_deleted();
