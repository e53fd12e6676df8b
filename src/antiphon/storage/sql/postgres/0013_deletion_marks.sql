-- A tenant's mark: the sum of its parts' numbers. Each deletion of a response replaces one of them at random, so what was
-- found of a chain holds as long as the mark is the same, also for another replica and after a failover.
ALTER TABLE tenant_sizes ADD COLUMN deletion_mark BIGINT NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION antiphon_responses_deleted() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes, deletion_mark)
    SELECT
        tenant, pg_backend_pid() % 16, -sum(length(body) + item_bytes + log_bytes),
        floor(random() * 281474976710656)::bigint
    FROM changed GROUP BY tenant ORDER BY tenant
    ON CONFLICT (tenant, part) DO UPDATE
    SET bytes = tenant_sizes.bytes + excluded.bytes, deletion_mark = excluded.deletion_mark;
    RETURN NULL;
END $$;
