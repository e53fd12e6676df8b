-- Files, the blobs that hold their content, and uploads in parts. Bytes of blobs are in a file beside this one.

-- What files and pending uploads count of their tenant's quota.
CREATE TABLE tenant_files (
    tenant TEXT PRIMARY KEY,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER tenant_files_put AFTER INSERT ON tenant_files BEGIN
    INSERT INTO tenant_sizes (tenant, bytes) VALUES (NEW.tenant, NEW.bytes)
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER tenant_files_changed AFTER UPDATE OF bytes ON tenant_files BEGIN
    UPDATE tenant_sizes SET bytes = bytes + NEW.bytes - OLD.bytes WHERE tenant = NEW.tenant;
END;

-- `uses` counts the files and parts of uploads that have the blob; -1 once its bytes are being deleted. A blob without
-- uses is stale from `stale_at` on. The digest of a part's blob is empty: parts are not shared.
CREATE TABLE blobs (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    digest BLOB,
    uses INTEGER NOT NULL,
    stale_at INTEGER NOT NULL
);
CREATE INDEX blobs_by_digest ON blobs (tenant, digest) WHERE uses > 0;
CREATE INDEX blobs_stale ON blobs (stale_at) WHERE uses <= 0;

CREATE TABLE files (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    filename TEXT NOT NULL,
    purpose TEXT NOT NULL,
    size INTEGER NOT NULL,
    digest BLOB NOT NULL,
    blob TEXT NOT NULL REFERENCES blobs (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER
);
CREATE INDEX files_by_tenant ON files (tenant, seq);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX files_by_blob ON files (blob);
CREATE TRIGGER files_deleted AFTER DELETE ON files BEGIN
    UPDATE blobs SET uses = uses - 1, stale_at = 0 WHERE id = OLD.blob;
    UPDATE tenant_files SET files = files - 1, bytes = bytes - OLD.size WHERE tenant = OLD.tenant;
END;

-- `received` counts the bytes of all parts that were stored.
CREATE TABLE uploads (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    filename TEXT NOT NULL,
    purpose TEXT NOT NULL,
    size INTEGER NOT NULL,
    mime_type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    lifetime INTEGER,
    status TEXT NOT NULL DEFAULT 'pending',
    file TEXT,
    received INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);

CREATE TABLE upload_parts (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    upload TEXT NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    tenant TEXT NOT NULL,
    size INTEGER NOT NULL,
    blob TEXT NOT NULL REFERENCES blobs (id),
    created_at INTEGER NOT NULL
);
CREATE INDEX upload_parts_by_upload ON upload_parts (upload, seq);
CREATE INDEX upload_parts_by_blob ON upload_parts (blob);
CREATE TRIGGER upload_parts_deleted AFTER DELETE ON upload_parts BEGIN
    UPDATE blobs SET uses = uses - 1, stale_at = 0 WHERE id = OLD.blob;
END;

-- An upload that ends drops its parts. The file of a completed one counts in its place; the others release their bytes.
CREATE TRIGGER uploads_ended AFTER UPDATE OF status ON uploads WHEN OLD.status = 'pending' AND NEW.status <> 'pending'
BEGIN
    DELETE FROM upload_parts WHERE upload = NEW.id;
    UPDATE tenant_files SET files = files - 1, bytes = bytes - NEW.size
    WHERE tenant = NEW.tenant AND NEW.status <> 'completed';
END;

-- The text that was read in a file's content. It is no one's only copy: the content can be read again.
CREATE TABLE file_texts (
    tenant TEXT NOT NULL,
    digest BLOB NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    pages INTEGER NOT NULL,
    is_cut INTEGER NOT NULL,
    body BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, digest)
);
CREATE INDEX file_texts_by_expiry ON file_texts (expires_at);

-- The text of a file goes with the last file that has the content: a tenant's files of one content have one blob.
CREATE TRIGGER file_texts_deleted AFTER DELETE ON files
WHEN NOT EXISTS (SELECT 1 FROM files WHERE blob = OLD.blob)
BEGIN
    DELETE FROM file_texts WHERE tenant = OLD.tenant AND digest = OLD.digest;
END;

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
