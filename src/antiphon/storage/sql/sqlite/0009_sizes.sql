-- How many items a response or a conversation has, and their bytes: what it takes to read them is known beforehand.

ALTER TABLE responses ADD COLUMN item_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE responses ADD COLUMN item_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE responses SET (item_count, item_bytes) = (
    SELECT count(*), coalesce(sum(length(items.body) + coalesce(length(items.sealed), 0)), 0)
    FROM items WHERE items.response = responses.seq
);

ALTER TABLE conversations ADD COLUMN item_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN item_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE conversations SET (item_count, item_bytes) = (
    SELECT count(*), coalesce(sum(length(body) + coalesce(length(sealed), 0)), 0)
    FROM conversation_items WHERE conversation = conversations.id
);

-- The bytes that each tenant has stored, kept up to date by the statements themselves.
CREATE TABLE tenant_sizes (
    tenant TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO tenant_sizes (tenant, bytes)
SELECT tenant, sum(bytes) FROM (
    SELECT tenant, length(body) + item_bytes AS bytes FROM responses
    UNION ALL SELECT tenant, length(metadata) + item_bytes FROM conversations
) GROUP BY tenant;

CREATE TRIGGER responses_put AFTER INSERT ON responses BEGIN
    INSERT INTO tenant_sizes (tenant, bytes) VALUES (NEW.tenant, length(NEW.body) + NEW.item_bytes)
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER responses_changed AFTER UPDATE OF body, item_bytes ON responses BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes + length(NEW.body) + NEW.item_bytes - length(OLD.body) - OLD.item_bytes
    WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER responses_deleted AFTER DELETE ON responses BEGIN
    UPDATE tenant_sizes SET bytes = bytes - length(OLD.body) - OLD.item_bytes WHERE tenant = OLD.tenant;
END;

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
