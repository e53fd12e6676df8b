-- Answers of models, kept to be given again. The key is a digest of all that was asked.

CREATE TABLE answers (
    tenant TEXT NOT NULL,
    key BLOB NOT NULL,
    body BLOB NOT NULL,
    size INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX answers_by_use ON answers (used_at DESC, tenant, key, size);
CREATE INDEX answers_by_expiry ON answers (expires_at);
