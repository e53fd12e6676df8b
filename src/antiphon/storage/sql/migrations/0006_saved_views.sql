-- Saved views of the console. `owner` is the id of an API key, or empty for the operator. They belong to the server, and
-- no statement that is made for a tenant sees one. `created_at` is in seconds.

CREATE TABLE saved_views (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    page TEXT NOT NULL,
    name TEXT NOT NULL,
    query TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (owner, page, name)
);
-- postgres: ALTER TABLE saved_views ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
-- postgres: CREATE POLICY server ON saved_views USING (current_setting('antiphon.tenant', true) = '*');
