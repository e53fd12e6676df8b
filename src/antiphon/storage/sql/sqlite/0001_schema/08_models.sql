-- What probes found about models. It belongs to the server, and to no tenant.

CREATE TABLE model_profiles (
    place TEXT NOT NULL,
    model TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BLOB NOT NULL,
    probed_at INTEGER NOT NULL,
    PRIMARY KEY (place, model)
) WITHOUT ROWID;

-- Reports of `antiphon verify`: they belong to the server, and to no tenant. `started_at` is in seconds.

CREATE TABLE reports (
    id TEXT PRIMARY KEY,
    server TEXT NOT NULL,
    model TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    summary BLOB NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX reports_by_start ON reports (started_at, id);
CREATE INDEX reports_by_server ON reports (server, model, started_at, id);
