-- Facts about responses, one narrow row each; the spans of their timelines and what backends received come last,
-- where a list does not read them.
-- Times are in milliseconds, costs in nano-units (NULL without a price).
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
    cost INTEGER,
    spans BLOB NOT NULL,
    bodies BLOB NOT NULL
);
-- Bit 32 of the flags: the response was deleted, and no list has it. Bit 64: `sums` has it already.
-- The index of all tenants serves their common list, the sums and the purge.
CREATE INDEX facts_by_time ON facts (tenant, began, seq) WHERE (flags & 32) = 0;
CREATE INDEX facts_by_model ON facts (tenant, model, began, seq) WHERE (flags & 32) = 0;
CREATE INDEX facts_by_key ON facts (tenant, key_id, began, seq) WHERE (flags & 32) = 0 AND key_id <> '';
CREATE INDEX facts_not_completed ON facts (tenant, status, began, seq) WHERE (flags & 32) = 0 AND status <> 'completed';
CREATE INDEX facts_by_start ON facts (began, seq);
CREATE INDEX facts_by_parent ON facts (previous_response_id, began, seq) WHERE previous_response_id <> '';

-- A worker claims a background response.
CREATE TRIGGER facts_started AFTER UPDATE OF status ON responses WHEN NEW.status = 'in_progress' BEGIN
    UPDATE facts SET status = NEW.status, seq = (SELECT max(seq) + 1 FROM facts) WHERE id = NEW.id;
END;

-- Sums of ended responses by the minute (`step` 60), the hour (3600) and the four hours (14400) in which they began;
-- `time` is in seconds.
-- Each response is in two rows of a step: `part` 0 is by model and backend, 1 by key. All three would be many rows.
-- `f` and `t` count the times to the first token and the durations, by the buckets of `records/figures.py`.
CREATE TABLE sums (
    part INTEGER NOT NULL,
    step INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    time INTEGER NOT NULL,
    model TEXT NOT NULL,
    backend TEXT NOT NULL,
    key_id TEXT NOT NULL,
    status TEXT NOT NULL,
    responses INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost INTEGER,
    f0 INTEGER NOT NULL,
    f1 INTEGER NOT NULL,
    f2 INTEGER NOT NULL,
    f3 INTEGER NOT NULL,
    f4 INTEGER NOT NULL,
    f5 INTEGER NOT NULL,
    f6 INTEGER NOT NULL,
    f7 INTEGER NOT NULL,
    f8 INTEGER NOT NULL,
    f9 INTEGER NOT NULL,
    f10 INTEGER NOT NULL,
    f11 INTEGER NOT NULL,
    f12 INTEGER NOT NULL,
    f13 INTEGER NOT NULL,
    f14 INTEGER NOT NULL,
    f15 INTEGER NOT NULL,
    f16 INTEGER NOT NULL,
    f17 INTEGER NOT NULL,
    f18 INTEGER NOT NULL,
    f19 INTEGER NOT NULL,
    f20 INTEGER NOT NULL,
    f21 INTEGER NOT NULL,
    f22 INTEGER NOT NULL,
    f23 INTEGER NOT NULL,
    t0 INTEGER NOT NULL,
    t1 INTEGER NOT NULL,
    t2 INTEGER NOT NULL,
    t3 INTEGER NOT NULL,
    t4 INTEGER NOT NULL,
    t5 INTEGER NOT NULL,
    t6 INTEGER NOT NULL,
    t7 INTEGER NOT NULL,
    t8 INTEGER NOT NULL,
    t9 INTEGER NOT NULL,
    t10 INTEGER NOT NULL,
    t11 INTEGER NOT NULL,
    t12 INTEGER NOT NULL,
    t13 INTEGER NOT NULL,
    t14 INTEGER NOT NULL,
    t15 INTEGER NOT NULL,
    t16 INTEGER NOT NULL,
    t17 INTEGER NOT NULL,
    t18 INTEGER NOT NULL,
    t19 INTEGER NOT NULL,
    t20 INTEGER NOT NULL,
    t21 INTEGER NOT NULL,
    t22 INTEGER NOT NULL,
    t23 INTEGER NOT NULL,
    PRIMARY KEY (part, step, tenant, time, model, backend, key_id, status)
) WITHOUT ROWID;
CREATE INDEX sums_by_time ON sums (step, time);

-- The time in seconds up to which `sums` has the responses that began.
CREATE TABLE summed (until INTEGER NOT NULL);
INSERT INTO summed VALUES (0);
