-- An expired worker keeps its leases until somebody takes them; its next beat makes it alive again.
ALTER TABLE workers ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;

-- Jobs are claimed by tenant and key.
DROP INDEX jobs_by_owner;
CREATE INDEX jobs_by_owner ON jobs (owner, tenant, api_key, response);

-- The time that the servers of this file agree on: `at` is when `written_by` wrote it, by its own clock. `asked` changes
-- when a server wants to see it written anew.
CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at REAL NOT NULL,
    written_by TEXT NOT NULL,
    asked INTEGER NOT NULL
);
INSERT INTO clock (id, at, written_by, asked) VALUES (1, 0, '', 0);
