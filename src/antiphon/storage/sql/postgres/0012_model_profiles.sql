-- What probes found about models. It belongs to the server, and to no tenant.

CREATE TABLE model_profiles (
    place TEXT NOT NULL,
    model TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BYTEA NOT NULL,
    probed_at BIGINT NOT NULL,
    PRIMARY KEY (place, model)
);
