-- Conversations. `holder` is the response that writes to one, `owner` the worker that makes that response in the
-- foreground. An id begins with the time, so its order is that of creation.
CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    metadata BLOB NOT NULL,
    next_position INTEGER NOT NULL,
    holder TEXT,
    owner TEXT,
    item_count INTEGER NOT NULL DEFAULT 0,
    item_bytes INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX conversations_by_owner ON conversations (owner) WHERE owner IS NOT NULL;
CREATE INDEX conversations_by_tenant ON conversations (tenant, id);

CREATE TRIGGER conversations_put AFTER INSERT ON conversations BEGIN
    INSERT INTO tenant_sizes (tenant, bytes) VALUES (NEW.tenant, length(NEW.metadata) + NEW.item_bytes)
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER conversations_changed AFTER UPDATE OF metadata, item_bytes ON conversations BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes + length(NEW.metadata) + NEW.item_bytes - length(OLD.metadata) - OLD.item_bytes
    WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER conversations_deleted AFTER DELETE ON conversations BEGIN
    UPDATE tenant_sizes SET bytes = bytes - length(OLD.metadata) - OLD.item_bytes WHERE tenant = OLD.tenant;
END;

CREATE TABLE conversation_items (
    conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    sealed TEXT,
    body BLOB NOT NULL,
    PRIMARY KEY (conversation, position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX conversation_items_by_id ON conversation_items (id, conversation);

-- The requests with an `Idempotency-Key`. A key is reserved without a reply.
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

CREATE TRIGGER idempotency_keys_changed AFTER UPDATE OF reply ON idempotency_keys
WHEN NEW.reply IS NOT NULL OR OLD.reply IS NOT NULL BEGIN
    INSERT INTO tenant_sizes (tenant, bytes)
    VALUES (NEW.tenant, coalesce(length(NEW.reply), 0) - coalesce(length(OLD.reply), 0))
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER idempotency_keys_deleted AFTER DELETE ON idempotency_keys WHEN OLD.reply IS NOT NULL BEGIN
    UPDATE tenant_sizes SET bytes = bytes - length(OLD.reply) WHERE tenant = OLD.tenant;
END;
