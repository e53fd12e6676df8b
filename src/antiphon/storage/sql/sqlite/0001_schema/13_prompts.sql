-- Prompts and their versions. A version never changes; a prompt goes with all of its versions.

CREATE TABLE prompts (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    newest_version INTEGER NOT NULL,
    default_version INTEGER NOT NULL
);
CREATE INDEX prompts_by_tenant ON prompts (tenant, seq);

CREATE TABLE prompt_versions (
    prompt INTEGER NOT NULL REFERENCES prompts (seq) ON DELETE CASCADE,
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    template BLOB NOT NULL,
    PRIMARY KEY (prompt, version)
);
CREATE INDEX prompt_versions_by_tenant ON prompt_versions (tenant);

CREATE TRIGGER prompt_versions_put AFTER INSERT ON prompt_versions BEGIN
    INSERT INTO tenant_sizes (tenant, bytes) VALUES (NEW.tenant, length(NEW.template))
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER prompt_versions_deleted AFTER DELETE ON prompt_versions BEGIN
    UPDATE tenant_sizes SET bytes = bytes - length(OLD.template) WHERE tenant = OLD.tenant;
END;
