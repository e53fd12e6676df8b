-- What items keep in blobs: the results of image_generation_call items. A row for each item and its owner, a response or
-- a conversation, so that a blob is deleted with the last of them.
CREATE TABLE item_blobs (
    seq INTEGER PRIMARY KEY,
    blob TEXT NOT NULL REFERENCES blobs (id),
    tenant TEXT NOT NULL,
    size INTEGER NOT NULL,
    response INTEGER REFERENCES responses (seq) ON DELETE CASCADE,
    conversation TEXT REFERENCES conversations (id) ON DELETE CASCADE,
    item TEXT NOT NULL
);
CREATE UNIQUE INDEX item_blobs_by_response ON item_blobs (response, item) WHERE response IS NOT NULL;
CREATE UNIQUE INDEX item_blobs_by_conversation ON item_blobs (conversation, item) WHERE conversation IS NOT NULL;
CREATE INDEX item_blobs_by_blob ON item_blobs (blob);

CREATE TRIGGER item_blobs_put AFTER INSERT ON item_blobs BEGIN
    UPDATE blobs SET uses = uses + 1 WHERE id = NEW.blob;
    INSERT INTO tenant_sizes (tenant, bytes) VALUES (NEW.tenant, NEW.size)
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER item_blobs_deleted AFTER DELETE ON item_blobs BEGIN
    UPDATE blobs SET uses = uses - 1, stale_at = 0 WHERE id = OLD.blob;
    UPDATE tenant_sizes SET bytes = bytes - OLD.size WHERE tenant = OLD.tenant;
END;
