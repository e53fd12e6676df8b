-- Agents: responses that a program of the operator computes. `queue` is the agent of a job, empty for a response of a
-- model, so the workers of an agent and the servers claim only their own. `step_bytes` are those of its steps, which
-- `log_bytes` and `kept_bytes` include. A step is what an agent did once for its response: `key` names it, `place` is the
-- order of beginning, `digest` is that of its input, and `body` its result. `StepState` has the values of `state`. Times
-- are in milliseconds. `agents` has those that a worker serves, as JSON; it is empty for a server of models alone.

ALTER TABLE workers ADD COLUMN agents TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN queue TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN step_bytes BIGINT NOT NULL DEFAULT 0;
DROP INDEX jobs_soonest;
CREATE INDEX jobs_soonest ON jobs (queue, tenant, api_key, response) WHERE owner IS NULL AND begin_by = 0;

CREATE TABLE steps (
    response BIGINT NOT NULL REFERENCES responses (seq) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    key TEXT NOT NULL,
    state INTEGER NOT NULL,
    -- sqlite: digest BLOB NOT NULL,
    -- sqlite: body BLOB NOT NULL,
    -- postgres: digest BYTEA NOT NULL,
    -- postgres: body BYTEA NOT NULL,
    began BIGINT NOT NULL,
    ended BIGINT,
    attempt INTEGER NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (response, place)
)
-- sqlite: WITHOUT ROWID
;
