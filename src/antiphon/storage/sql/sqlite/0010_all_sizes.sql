-- A tenant's stored bytes also count event logs, what jobs have, and replies kept for an `Idempotency-Key`.

-- The bytes of a response's log. While the response has a job, the job counts them.
ALTER TABLE responses ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE responses SET log_bytes = (SELECT sum(length(events.body)) FROM events WHERE events.response = responses.seq)
WHERE seq IN (SELECT response FROM events) AND seq NOT IN (SELECT response FROM jobs);

-- The bytes of the log so far, of its part before `kept_number`, and of the items that the response does not count yet.
ALTER TABLE jobs ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN kept_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN output_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET
    (log_bytes, kept_bytes) = (
        SELECT
            coalesce(sum(length(body)), 0),
            coalesce(sum(CASE WHEN number < kept_number THEN length(body) END), 0)
        FROM events WHERE events.response = jobs.response
    ),
    output_bytes = (
        SELECT coalesce(sum(length(body) + coalesce(length(sealed), 0)), 0)
        FROM items WHERE items.response = jobs.response
    ) - (SELECT item_bytes FROM responses WHERE responses.seq = jobs.response);

INSERT INTO tenant_sizes (tenant, bytes)
SELECT tenant, sum(bytes) FROM (
    SELECT tenant, log_bytes AS bytes FROM responses WHERE log_bytes > 0
    UNION ALL SELECT tenant, length(request) + length(called) + log_bytes + output_bytes FROM jobs
    UNION ALL SELECT tenant, length(reply) FROM idempotency_keys WHERE reply IS NOT NULL
) WHERE true GROUP BY tenant
ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;

DROP TRIGGER responses_changed;
CREATE TRIGGER responses_changed AFTER UPDATE OF body, item_bytes, log_bytes ON responses BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes
        + length(NEW.body) + NEW.item_bytes + NEW.log_bytes
        - length(OLD.body) - OLD.item_bytes - OLD.log_bytes
    WHERE tenant = NEW.tenant;
END;
DROP TRIGGER responses_deleted;
CREATE TRIGGER responses_deleted AFTER DELETE ON responses BEGIN
    UPDATE tenant_sizes SET bytes = bytes - length(OLD.body) - OLD.item_bytes - OLD.log_bytes WHERE tenant = OLD.tenant;
END;

-- A tenant with a job has a response, and so a row in `tenant_sizes`.
CREATE TRIGGER jobs_put AFTER INSERT ON jobs BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes + length(NEW.request) + length(NEW.called) + NEW.log_bytes + NEW.output_bytes
    WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER jobs_changed AFTER UPDATE OF called, log_bytes, output_bytes ON jobs
WHEN
    length(NEW.called) + NEW.log_bytes + NEW.output_bytes <> length(OLD.called) + OLD.log_bytes + OLD.output_bytes
BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes
        + length(NEW.called) + NEW.log_bytes + NEW.output_bytes
        - length(OLD.called) - OLD.log_bytes - OLD.output_bytes
    WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes - length(OLD.request) - length(OLD.called) - OLD.log_bytes - OLD.output_bytes
    WHERE tenant = OLD.tenant;
END;

-- A key is reserved without a reply.
CREATE TRIGGER idempotency_keys_changed AFTER UPDATE OF reply ON idempotency_keys
WHEN NEW.reply IS NOT NULL OR OLD.reply IS NOT NULL BEGIN
    INSERT INTO tenant_sizes (tenant, bytes)
    VALUES (NEW.tenant, coalesce(length(NEW.reply), 0) - coalesce(length(OLD.reply), 0))
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER idempotency_keys_deleted AFTER DELETE ON idempotency_keys WHEN OLD.reply IS NOT NULL BEGIN
    UPDATE tenant_sizes SET bytes = bytes - length(OLD.reply) WHERE tenant = OLD.tenant;
END;
