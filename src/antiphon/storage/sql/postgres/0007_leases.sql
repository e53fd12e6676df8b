-- An expired worker keeps its leases until somebody takes them; its next beat makes it alive again.
ALTER TABLE workers ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;

-- Jobs are claimed by tenant and key.
DROP INDEX jobs_by_owner;
CREATE INDEX jobs_by_owner ON jobs (owner, tenant, api_key, response);
