-- Vector stores, the files in them, and batches of files. Times are seconds.

-- `days` without activity end a store; NULL means never. `embedding_model` makes the vectors of its chunks; empty: none.
-- Triggers keep the counts of files, and the sum of their bytes, which the tenant's stored bytes have too.
CREATE TABLE vector_stores (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_active_at INTEGER NOT NULL,
    days INTEGER,
    expires_at INTEGER,
    name BLOB,
    description BLOB,
    metadata BLOB NOT NULL,
    embedding_model TEXT NOT NULL,
    in_progress INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    usage_bytes INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX vector_stores_by_tenant ON vector_stores (tenant, seq);
CREATE INDEX vector_stores_by_expiry ON vector_stores (expires_at) WHERE expires_at IS NOT NULL;

-- A file in a store. While its status is `in_progress` the row is also its place in the queue of ingestion: it waits, or
-- one worker owns it. `version` fences writers. `live_version` is the version whose chunks a search finds; NULL means none.
CREATE TABLE vector_store_files (
    seq INTEGER PRIMARY KEY,
    store INTEGER NOT NULL REFERENCES vector_stores (seq) ON DELETE CASCADE,
    file_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    filename TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    error_code TEXT,
    error_message TEXT,
    attributes BLOB NOT NULL,
    chunk_tokens INTEGER NOT NULL,
    overlap_tokens INTEGER NOT NULL,
    api_key TEXT NOT NULL DEFAULT '',
    usage_bytes INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    live_version INTEGER,
    owner TEXT,
    lost INTEGER NOT NULL DEFAULT 0,
    UNIQUE (store, file_id)
);
CREATE INDEX vector_store_files_by_store ON vector_store_files (store, seq);
CREATE INDEX vector_store_files_by_file ON vector_store_files (file_id);
CREATE INDEX vector_store_files_waiting ON vector_store_files (owner, tenant, seq) WHERE status = 'in_progress';

CREATE TRIGGER vector_store_files_put AFTER INSERT ON vector_store_files BEGIN
    UPDATE vector_stores
    SET in_progress = in_progress + (NEW.status = 'in_progress'),
        completed = completed + (NEW.status = 'completed'),
        failed = failed + (NEW.status = 'failed'),
        cancelled = cancelled + (NEW.status = 'cancelled'),
        usage_bytes = usage_bytes + NEW.usage_bytes,
        chunks = chunks + NEW.chunks
    WHERE seq = NEW.store;
    INSERT INTO tenant_sizes (tenant, bytes) VALUES (NEW.tenant, length(NEW.attributes) + NEW.usage_bytes)
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER vector_store_files_changed AFTER UPDATE OF status, attributes, usage_bytes, chunks ON vector_store_files
BEGIN
    UPDATE vector_stores
    SET in_progress = in_progress + (NEW.status = 'in_progress') - (OLD.status = 'in_progress'),
        completed = completed + (NEW.status = 'completed') - (OLD.status = 'completed'),
        failed = failed + (NEW.status = 'failed') - (OLD.status = 'failed'),
        cancelled = cancelled + (NEW.status = 'cancelled') - (OLD.status = 'cancelled'),
        usage_bytes = usage_bytes + NEW.usage_bytes - OLD.usage_bytes,
        chunks = chunks + NEW.chunks - OLD.chunks
    WHERE seq = NEW.store;
    UPDATE tenant_sizes
    SET bytes = bytes + length(NEW.attributes) + NEW.usage_bytes - length(OLD.attributes) - OLD.usage_bytes
    WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER vector_store_files_deleted AFTER DELETE ON vector_store_files BEGIN
    UPDATE vector_stores
    SET in_progress = in_progress - (OLD.status = 'in_progress'),
        completed = completed - (OLD.status = 'completed'),
        failed = failed - (OLD.status = 'failed'),
        cancelled = cancelled - (OLD.status = 'cancelled'),
        usage_bytes = usage_bytes - OLD.usage_bytes,
        chunks = chunks - OLD.chunks
    WHERE seq = OLD.store;
    UPDATE tenant_sizes SET bytes = bytes - length(OLD.attributes) - OLD.usage_bytes WHERE tenant = OLD.tenant;
END;

-- `total` is the number of files at creation; what became of them is in the rows of the files.
CREATE TABLE vector_store_batches (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    store INTEGER NOT NULL REFERENCES vector_stores (seq) ON DELETE CASCADE,
    tenant TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    total INTEGER NOT NULL,
    is_cancelled INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX vector_store_batches_by_store ON vector_store_batches (store);

CREATE TABLE vector_store_batch_files (
    batch INTEGER NOT NULL REFERENCES vector_store_batches (seq) ON DELETE CASCADE,
    file_id TEXT NOT NULL,
    PRIMARY KEY (batch, file_id)
) WITHOUT ROWID;
