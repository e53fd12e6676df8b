-- What probes found about models. It belongs to the server, and to no tenant.

CREATE TABLE model_profiles (
    place TEXT NOT NULL,
    model TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BYTEA NOT NULL,
    probed_at BIGINT NOT NULL,
    PRIMARY KEY (place, model)
);

-- Reports of `antiphon verify`: they belong to the server, and no statement that is made for a tenant sees one.
-- `started_at` is in seconds.

CREATE TABLE reports (
    id TEXT PRIMARY KEY,
    server TEXT NOT NULL,
    model TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    summary BYTEA NOT NULL,
    body BYTEA NOT NULL
);
CREATE INDEX reports_by_start ON reports (started_at, id);
CREATE INDEX reports_by_server ON reports (server, model, started_at, id);
ALTER TABLE reports ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY server ON reports USING (current_setting('antiphon.tenant', true) = '*');
