-- How many items a response or a conversation has, and their bytes: what it takes to read them is known beforehand.

ALTER TABLE responses ADD COLUMN item_count BIGINT NOT NULL DEFAULT 0, ADD COLUMN item_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE responses SET item_count = found.item_count, item_bytes = found.item_bytes
FROM (
    SELECT response, count(*) AS item_count, sum(length(body) + coalesce(length(sealed), 0)) AS item_bytes
    FROM items GROUP BY response
) AS found
WHERE found.response = responses.seq;

ALTER TABLE conversations
    ADD COLUMN item_count BIGINT NOT NULL DEFAULT 0, ADD COLUMN item_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE conversations SET item_count = found.item_count, item_bytes = found.item_bytes
FROM (
    SELECT conversation, count(*) AS item_count, sum(length(body) + coalesce(length(sealed), 0)) AS item_bytes
    FROM conversation_items GROUP BY conversation
) AS found
WHERE found.conversation = conversations.id;

-- An item of a given id in a given response is found by this index alone.
CREATE INDEX items_by_place ON items (id, response, position);
DROP INDEX items_by_id;

-- The bytes that each tenant has stored, kept up to date by the statements themselves. A tenant's sum is spread over several
-- rows, so that connections that save for the same tenant seldom wait for each other.
CREATE TABLE tenant_sizes (
    tenant TEXT NOT NULL,
    part INTEGER NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (tenant, part)
);
INSERT INTO tenant_sizes (tenant, part, bytes)
SELECT tenant, 0, sum(bytes) FROM (
    SELECT tenant, length(body) + item_bytes AS bytes FROM responses
    UNION ALL SELECT tenant, length(metadata) + item_bytes FROM conversations
) AS stored GROUP BY tenant;
ALTER TABLE tenant_sizes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON tenant_sizes USING (antiphon_sees(tenant));

CREATE FUNCTION antiphon_responses_put() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes)
    SELECT tenant, pg_backend_pid() % 16, sum(length(body) + item_bytes) FROM changed GROUP BY tenant ORDER BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE FUNCTION antiphon_responses_deleted() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes)
    SELECT tenant, pg_backend_pid() % 16, -sum(length(body) + item_bytes) FROM changed GROUP BY tenant ORDER BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE FUNCTION antiphon_response_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes) VALUES (
        NEW.tenant, pg_backend_pid() % 16, length(NEW.body) + NEW.item_bytes - length(OLD.body) - OLD.item_bytes
    )
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER sizes_put AFTER INSERT ON responses REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION antiphon_responses_put();
CREATE TRIGGER sizes_deleted AFTER DELETE ON responses REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION antiphon_responses_deleted();
CREATE TRIGGER sizes_changed AFTER UPDATE OF body, item_bytes ON responses
    FOR EACH ROW EXECUTE FUNCTION antiphon_response_changed();

CREATE FUNCTION antiphon_conversation_size() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    before BIGINT := CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE length(OLD.metadata) + OLD.item_bytes END;
    after BIGINT := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE length(NEW.metadata) + NEW.item_bytes END;
BEGIN
    INSERT INTO tenant_sizes (tenant, part, bytes)
    VALUES (coalesce(NEW.tenant, OLD.tenant), pg_backend_pid() % 16, after - before)
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = tenant_sizes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER sizes AFTER INSERT OR DELETE OR UPDATE OF metadata, item_bytes ON conversations
    FOR EACH ROW EXECUTE FUNCTION antiphon_conversation_size();
