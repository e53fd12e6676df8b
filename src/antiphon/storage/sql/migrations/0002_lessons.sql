-- What refusals of backends taught about models. `tenant` is empty for a lesson that holds for everyone. The lessons
-- belong to the server, and no statement that is made for a tenant sees one. `learned_at` is in seconds.

CREATE TABLE model_lessons (
    place TEXT NOT NULL,
    model TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    said TEXT NOT NULL,
    learned_at BIGINT NOT NULL,
    PRIMARY KEY (place, model, tenant, name)
)
-- sqlite: WITHOUT ROWID
;
-- postgres: ALTER TABLE model_lessons ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
-- postgres: CREATE POLICY server ON model_lessons USING (current_setting('antiphon.tenant', true) = '*');
