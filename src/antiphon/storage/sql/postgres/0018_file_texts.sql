-- The text that was read in a file's content. It is no one's only copy: the content can be read again.
CREATE TABLE file_texts (
    tenant TEXT NOT NULL,
    digest BYTEA NOT NULL,
    version BIGINT NOT NULL,
    kind TEXT NOT NULL,
    pages BIGINT NOT NULL,
    is_cut BOOLEAN NOT NULL,
    body BYTEA NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, digest)
);
CREATE INDEX file_texts_by_expiry ON file_texts (expires_at);
ALTER TABLE file_texts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON file_texts USING (antiphon_sees(tenant));

-- The text of a file goes with the last file that has the content: a tenant's files of one content have one blob.
CREATE FUNCTION antiphon_file_text_deleted() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM file_texts WHERE tenant = OLD.tenant AND digest = OLD.digest
        AND NOT EXISTS (SELECT 1 FROM files WHERE blob = OLD.blob);
    RETURN NULL;
END $$;
CREATE TRIGGER text_deleted AFTER DELETE ON files FOR EACH ROW EXECUTE FUNCTION antiphon_file_text_deleted();
