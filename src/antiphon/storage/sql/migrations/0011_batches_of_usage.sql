-- The last batch of usage that each process has written. A process that received no acknowledgement writes its batch again,
-- and the store counts it once. The batches belong to the server, and no statement that is made for a tenant sees one.
-- `written_at` is in seconds.

CREATE TABLE usage_batches (
    writer TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    written_at BIGINT NOT NULL
)
-- sqlite: WITHOUT ROWID
;
-- postgres: ALTER TABLE usage_batches ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
-- postgres: CREATE POLICY server ON usage_batches USING (current_setting('antiphon.tenant', true) = '*');
