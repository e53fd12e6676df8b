-- What probes found about models. It belongs to the server, and to no tenant.

CREATE TABLE model_profiles (
    place TEXT NOT NULL,
    model TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BLOB NOT NULL,
    probed_at INTEGER NOT NULL,
    PRIMARY KEY (place, model)
) WITHOUT ROWID;
