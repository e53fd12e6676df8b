-- Background responses that can wait for idle slots. `begin_by` is the time, in seconds, from which such a job no longer
-- waits for one, or 0 for a job that never does. `uses_idle` is 1 while the job runs in an idle slot, which it returns to
-- any job that needs it. `continuation` is a digest of the client's name for related requests, empty without one.

ALTER TABLE jobs ADD COLUMN begin_by BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN uses_idle INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN continuation TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_soonest ON jobs (tenant, api_key, response) WHERE owner IS NULL AND begin_by = 0;
CREATE INDEX jobs_deferred ON jobs (tenant, api_key, begin_by, response) WHERE owner IS NULL AND begin_by > 0;
CREATE INDEX jobs_continued ON jobs (tenant, api_key, response) WHERE owner IS NULL AND continuation <> '';
