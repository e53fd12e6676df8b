-- Facts about responses, one narrow row each; the spans of their timelines come last, where a list does not read them.
-- Times are in milliseconds but for `expires_at`.
-- No row refers to `responses`: what is not stored has facts too, and the numbers outlive a deleted response.

CREATE TABLE facts (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER,
    status TEXT NOT NULL,
    model TEXT NOT NULL,
    served_model TEXT NOT NULL,
    backend TEXT NOT NULL,
    key_id TEXT NOT NULL,
    flags INTEGER NOT NULL,
    tools TEXT NOT NULL,
    queued INTEGER,
    first INTEGER,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    previous_response_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    request_bytes INTEGER NOT NULL,
    tags TEXT NOT NULL,
    input TEXT NOT NULL,
    output TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    spans BLOB NOT NULL
);
-- Bit 32 says that the response was deleted: no list has it.
CREATE INDEX facts_by_time ON facts (tenant, began, seq) WHERE (flags & 32) = 0;
CREATE INDEX facts_by_model ON facts (tenant, model, began, seq) WHERE (flags & 32) = 0;
CREATE INDEX facts_by_key ON facts (tenant, key_id, began, seq) WHERE (flags & 32) = 0 AND key_id <> '';
CREATE INDEX facts_not_completed ON facts (tenant, status, began, seq) WHERE (flags & 32) = 0 AND status <> 'completed';
CREATE INDEX facts_by_expiry ON facts (expires_at);

-- A worker claims a background response.
CREATE TRIGGER facts_started AFTER UPDATE OF status ON responses WHEN NEW.status = 'in_progress' BEGIN
    UPDATE facts SET status = NEW.status WHERE id = NEW.id;
END;
