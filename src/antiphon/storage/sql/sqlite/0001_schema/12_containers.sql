-- Containers of code and the files in them. Times are seconds.

-- `expires_at` moves with every use. `holder` has the container until `held_until`; empty: nobody. `is_emptied` once its
-- files were dropped because it expired.
CREATE TABLE containers (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    name BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    last_active_at INTEGER NOT NULL,
    idle_minutes INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    memory_limit TEXT NOT NULL,
    network_policy TEXT NOT NULL,
    is_auto INTEGER NOT NULL,
    worker TEXT NOT NULL DEFAULT '',
    calls INTEGER NOT NULL DEFAULT 0,
    holder TEXT NOT NULL DEFAULT '',
    held_until REAL NOT NULL DEFAULT 0,
    is_emptied INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX containers_by_tenant ON containers (tenant, seq);
CREATE INDEX containers_by_name ON containers (tenant, name, seq);
CREATE INDEX containers_running ON containers (tenant, expires_at) WHERE is_emptied = 0;
CREATE INDEX containers_by_expiry ON containers (expires_at) WHERE is_emptied = 0;
CREATE INDEX containers_emptied ON containers (expires_at) WHERE is_emptied = 1;

CREATE TABLE container_files (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    container INTEGER NOT NULL REFERENCES containers (seq) ON DELETE CASCADE,
    tenant TEXT NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    blob TEXT NOT NULL REFERENCES blobs (id),
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (container, path)
);
CREATE INDEX container_files_by_container ON container_files (container, seq);
CREATE INDEX container_files_by_blob ON container_files (blob);

CREATE TRIGGER container_files_put AFTER INSERT ON container_files BEGIN
    INSERT INTO tenant_sizes (tenant, bytes) VALUES (NEW.tenant, NEW.size)
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER container_files_replaced AFTER UPDATE OF blob ON container_files BEGIN
    UPDATE blobs SET uses = uses - 1, stale_at = 0 WHERE id = OLD.blob;
    UPDATE tenant_sizes SET bytes = bytes + NEW.size - OLD.size WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER container_files_deleted AFTER DELETE ON container_files BEGIN
    UPDATE blobs SET uses = uses - 1, stale_at = 0 WHERE id = OLD.blob;
    UPDATE tenant_sizes SET bytes = bytes - OLD.size WHERE tenant = OLD.tenant;
END;
