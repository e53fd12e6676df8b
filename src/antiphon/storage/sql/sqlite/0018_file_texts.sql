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
