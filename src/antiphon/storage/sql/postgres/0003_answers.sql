-- Answers of models, kept to be given again. The key is a digest of all that was asked.

CREATE TABLE answers (
    tenant TEXT NOT NULL,
    key BYTEA NOT NULL,
    body BYTEA NOT NULL,
    size BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX answers_by_use ON answers (used_at DESC, tenant, key, size);
CREATE INDEX answers_by_expiry ON answers (expires_at);
