-- A tenant's stored bytes also count event logs, what jobs have, and replies kept for an `Idempotency-Key`.

-- The bytes of a response's log. While the response has a job, the job counts them.
ALTER TABLE responses ADD COLUMN log_bytes BIGINT NOT NULL DEFAULT 0;
-- The bytes of the log so far, of its part before `kept_number`, and of the items that the response does not count yet.
ALTER TABLE jobs
    ADD COLUMN log_bytes BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN kept_bytes BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN output_bytes BIGINT NOT NULL DEFAULT 0;

UPDATE responses SET log_bytes = found.bytes
FROM (SELECT response, sum(length(body)) AS bytes FROM events GROUP BY response) AS found
WHERE found.response = responses.seq AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.response = responses.seq);
UPDATE jobs SET log_bytes = found.bytes, kept_bytes = found.kept
FROM (
    SELECT
        jobs.response AS job,
        sum(length(events.body)) AS bytes,
        coalesce(sum(length(events.body)) FILTER (WHERE events.number < jobs.kept_number), 0) AS kept
    FROM jobs JOIN events ON events.response = jobs.response GROUP BY jobs.response
) AS found
WHERE found.job = jobs.response;
UPDATE jobs SET output_bytes = found.bytes - responses.item_bytes
FROM responses JOIN (
    SELECT response, sum(length(body) + coalesce(length(sealed), 0)) AS bytes FROM items
    WHERE response IN (SELECT response FROM jobs) GROUP BY response
) AS found ON found.response = responses.seq
WHERE responses.seq = jobs.response;

INSERT INTO tenant_sizes (tenant, part, bytes)
SELECT tenant, 0, sum(bytes) FROM (
    SELECT tenant, log_bytes AS bytes FROM responses WHERE log_bytes > 0
    UNION ALL SELECT tenant, length(request) + length(called) + log_bytes + output_bytes FROM jobs
    UNION ALL SELECT tenant, length(reply) FROM idempotency_keys WHERE reply IS NOT NULL
) AS stored GROUP BY tenant
ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;

CREATE OR REPLACE FUNCTION antiphon_responses_deleted() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes)
    SELECT tenant, pg_backend_pid() % 16, -sum(length(body) + item_bytes + log_bytes) FROM changed
    GROUP BY tenant ORDER BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION antiphon_response_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes) VALUES (
        NEW.tenant,
        pg_backend_pid() % 16,
        length(NEW.body) + NEW.item_bytes + NEW.log_bytes - length(OLD.body) - OLD.item_bytes - OLD.log_bytes
    )
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
DROP TRIGGER sizes_changed ON responses;
CREATE TRIGGER sizes_changed AFTER UPDATE OF body, item_bytes, log_bytes ON responses
    FOR EACH ROW EXECUTE FUNCTION antiphon_response_changed();

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

-- A key is reserved without a reply. Keys of many tenants are deleted at once, so those are summed up in one order.
CREATE FUNCTION antiphon_reply_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes) VALUES (
        NEW.tenant, pg_backend_pid() % 16, coalesce(length(NEW.reply), 0) - coalesce(length(OLD.reply), 0)
    )
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE FUNCTION antiphon_replies_deleted() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes)
    SELECT tenant, pg_backend_pid() % 16, -sum(length(reply)) FROM changed
    WHERE reply IS NOT NULL GROUP BY tenant ORDER BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER sizes_changed AFTER UPDATE OF reply ON idempotency_keys FOR EACH ROW
    WHEN (NEW.reply IS NOT NULL OR OLD.reply IS NOT NULL) EXECUTE FUNCTION antiphon_reply_changed();
CREATE TRIGGER sizes_deleted AFTER DELETE ON idempotency_keys REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION antiphon_replies_deleted();
