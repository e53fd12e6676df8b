-- What refusals of backends taught about models. `tenant` is empty for a lesson that holds for everyone. The lessons
-- belong to the server. `learned_at` is in seconds.

CREATE TABLE model_lessons (
    place TEXT NOT NULL,
    model TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    said TEXT NOT NULL,
    learned_at INTEGER NOT NULL,
    PRIMARY KEY (place, model, tenant, name)
) WITHOUT ROWID;
