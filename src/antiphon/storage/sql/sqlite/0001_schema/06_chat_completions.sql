-- Chat completions of requests with `store: true`, and the messages of those requests.

-- `tags` has a digest of each pair of the metadata, so that lists can be filtered. `message_bytes` counts the messages.
CREATE TABLE chat_completions (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    model TEXT NOT NULL,
    requested_model TEXT NOT NULL,
    tags TEXT NOT NULL,
    message_bytes INTEGER NOT NULL,
    metadata BLOB NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX chat_completions_by_tenant ON chat_completions (tenant, seq);
CREATE INDEX chat_completions_by_expiry ON chat_completions (expires_at);

CREATE TABLE chat_completion_messages (
    completion INTEGER NOT NULL REFERENCES chat_completions (seq) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (completion, position)
) WITHOUT ROWID;

CREATE TRIGGER chat_completions_put AFTER INSERT ON chat_completions BEGIN
    INSERT INTO tenant_sizes (tenant, bytes)
    VALUES (NEW.tenant, length(NEW.body) + length(NEW.metadata) + NEW.message_bytes)
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER chat_completions_changed AFTER UPDATE OF metadata ON chat_completions BEGIN
    UPDATE tenant_sizes SET bytes = bytes + length(NEW.metadata) - length(OLD.metadata) WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER chat_completions_deleted AFTER DELETE ON chat_completions BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes - length(OLD.body) - length(OLD.metadata) - OLD.message_bytes
    WHERE tenant = OLD.tenant;
END;
