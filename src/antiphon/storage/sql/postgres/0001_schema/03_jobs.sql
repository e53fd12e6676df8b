-- Background work: the workers, their jobs, and the events of each response. The clock is the database's.

CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    beat BIGINT NOT NULL,
    expired INTEGER NOT NULL DEFAULT 0
);
INSERT INTO workers (id, beat) VALUES ('', 0);

CREATE TABLE jobs (
    response BIGINT PRIMARY KEY REFERENCES responses (seq) ON DELETE CASCADE,
    tenant TEXT NOT NULL,
    owner TEXT,
    version BIGINT NOT NULL,
    next_number BIGINT NOT NULL,
    kept_number BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    request BYTEA NOT NULL,
    api_key TEXT NOT NULL DEFAULT '',
    tokens_taken BIGINT NOT NULL DEFAULT 0,
    called BYTEA NOT NULL DEFAULT '',
    log_bytes BIGINT NOT NULL DEFAULT 0,
    kept_bytes BIGINT NOT NULL DEFAULT 0,
    output_bytes BIGINT NOT NULL DEFAULT 0,
    cost_taken BIGINT
);
CREATE INDEX jobs_by_owner ON jobs (owner, tenant, api_key, response);
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON jobs USING (antiphon_sees(tenant));

CREATE FUNCTION antiphon_job_size() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    before BIGINT := CASE
        WHEN TG_OP = 'INSERT' THEN 0
        ELSE length(OLD.request) + length(OLD.called) + OLD.log_bytes + OLD.output_bytes
    END;
    after BIGINT := CASE
        WHEN TG_OP = 'DELETE' THEN 0
        ELSE length(NEW.request) + length(NEW.called) + NEW.log_bytes + NEW.output_bytes
    END;
BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes)
    VALUES (coalesce(NEW.tenant, OLD.tenant), pg_backend_pid() % 16, after - before)
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER sizes AFTER INSERT OR DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION antiphon_job_size();
CREATE TRIGGER sizes_changed AFTER UPDATE OF called, log_bytes, output_bytes ON jobs FOR EACH ROW
    WHEN (
        length(NEW.called) + NEW.log_bytes + NEW.output_bytes
        <> length(OLD.called) + OLD.log_bytes + OLD.output_bytes
    )
    EXECUTE FUNCTION antiphon_job_size();

CREATE TABLE events (
    response BIGINT NOT NULL REFERENCES responses (seq) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    last BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (response, number)
);
