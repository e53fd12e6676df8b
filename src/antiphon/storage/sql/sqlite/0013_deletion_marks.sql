-- A tenant's mark: each deletion of a response replaces it by a random number, so what was found of a chain holds as long
-- as the mark is the same, also for another process.
ALTER TABLE tenant_sizes ADD COLUMN deletion_mark INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER responses_deleted;
CREATE TRIGGER responses_deleted AFTER DELETE ON responses BEGIN
    UPDATE tenant_sizes
    SET bytes = bytes - length(OLD.body) - OLD.item_bytes - OLD.log_bytes,
        deletion_mark = random() % 281474976710656
    WHERE tenant = OLD.tenant;
END;
