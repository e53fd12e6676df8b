-- The schema of SQLite. Times are seconds and sizes are bytes, where nothing else is said.
-- The next change is `0002_what.sql`; a released migration never changes.

-- The bytes that each tenant has stored: triggers keep them up to date with each statement.
-- `deletion_mark`: each deletion of a response replaces it by a random number, so what was found of a chain holds as long
-- as the mark is the same, also for another process.
CREATE TABLE tenant_sizes (
    tenant TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    deletion_mark INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Responses, and the items that each received and produced.
--
-- Items refer to `seq`, not to the id of the response: new rows come at the end of both trees instead of at a random
-- place, and the index of item ids is sorted by age. A response that is saved again gets a new `seq`.
-- `generation` counts how often half-made events were dropped. `item_count` and `item_bytes` tell what it takes to read
-- the items. `log_bytes` are the bytes of the log of events; while the response has a job, the job counts them.
CREATE TABLE responses (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    previous_response_id TEXT,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    body BLOB NOT NULL,
    tenant TEXT NOT NULL DEFAULT '',
    conversation_id TEXT,
    conversation_end INTEGER,
    expires_at INTEGER,
    is_stored INTEGER NOT NULL DEFAULT 1,
    is_streamed INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0,
    item_count INTEGER NOT NULL DEFAULT 0,
    item_bytes INTEGER NOT NULL DEFAULT 0,
    log_bytes INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX responses_by_expiry ON responses (expires_at);

CREATE TRIGGER responses_put AFTER INSERT ON responses BEGIN
    INSERT INTO tenant_sizes (tenant, bytes) VALUES (NEW.tenant, length(NEW.body) + NEW.item_bytes)
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER responses_changed AFTER UPDATE OF body, item_bytes, log_bytes ON responses BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes
        + length(NEW.body) + NEW.item_bytes + NEW.log_bytes
        - length(OLD.body) - OLD.item_bytes - OLD.log_bytes
    WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER responses_deleted AFTER DELETE ON responses BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes - length(OLD.body) - OLD.item_bytes - OLD.log_bytes,
        deletion_mark = random() % 281474976710656
    WHERE tenant = OLD.tenant;
END;

-- An item's id is not unique: clients send their history again, item by item.
CREATE TABLE items (
    response INTEGER NOT NULL REFERENCES responses (seq) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    is_output INTEGER NOT NULL,
    id TEXT NOT NULL,
    sealed TEXT,
    body BLOB NOT NULL,
    PRIMARY KEY (response, position)
) WITHOUT ROWID;
CREATE INDEX items_by_id ON items (id);
