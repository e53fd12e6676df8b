-- Background work: the workers, their jobs, and the events of each response.

-- An expired worker keeps its leases until another one takes them; its next beat makes it alive again.
CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    beat INTEGER NOT NULL,
    expired INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
-- It stands for the queue.
INSERT INTO workers (id, beat) VALUES ('', 0);

-- A job without an owner waits. Rows are few: a job is deleted when its response has ended.
-- `api_key` asked for the response; `tokens_taken` and `cost_taken` were reserved of its limits and budgets (NULL where no
-- budget applies). `called` has what was last noted of the tool calls in progress. The bytes are those of the log so far,
-- of its part before `kept_number`, and of the items that the response does not count yet.
CREATE TABLE jobs (
    response INTEGER PRIMARY KEY REFERENCES responses (seq) ON DELETE CASCADE,
    tenant TEXT NOT NULL,
    owner TEXT,
    version INTEGER NOT NULL,
    next_number INTEGER NOT NULL,
    kept_number INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    request BLOB NOT NULL,
    api_key TEXT NOT NULL DEFAULT '',
    tokens_taken INTEGER NOT NULL DEFAULT 0,
    called BLOB NOT NULL DEFAULT x'',
    log_bytes INTEGER NOT NULL DEFAULT 0,
    kept_bytes INTEGER NOT NULL DEFAULT 0,
    output_bytes INTEGER NOT NULL DEFAULT 0,
    cost_taken INTEGER
);
CREATE INDEX jobs_by_owner ON jobs (owner, tenant, api_key, response);

-- A tenant with a job has a response, and so a row in `tenant_sizes`.
CREATE TRIGGER jobs_put AFTER INSERT ON jobs BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes + length(NEW.request) + length(NEW.called) + NEW.log_bytes + NEW.output_bytes
    WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER jobs_changed AFTER UPDATE OF called, log_bytes, output_bytes ON jobs
WHEN
    length(NEW.called) + NEW.log_bytes + NEW.output_bytes <> length(OLD.called) + OLD.log_bytes + OLD.output_bytes
BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes
        + length(NEW.called) + NEW.log_bytes + NEW.output_bytes
        - length(OLD.called) - OLD.log_bytes - OLD.output_bytes
    WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes - length(OLD.request) - length(OLD.called) - OLD.log_bytes - OLD.output_bytes
    WHERE tenant = OLD.tenant;
END;

CREATE TABLE events (
    response INTEGER NOT NULL REFERENCES responses (seq) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    last INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (response, number)
) WITHOUT ROWID;

-- The time that the servers of this file agree on: `at` is when `written_by` wrote it, by its own clock. `asked` changes
-- when a server wants to see it written anew.
CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at REAL NOT NULL,
    written_by TEXT NOT NULL,
    asked INTEGER NOT NULL
);
INSERT INTO clock (id, at, written_by, asked) VALUES (1, 0, '', 0);
