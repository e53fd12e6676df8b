-- Usage by model, what it costs, budgets, and keys of administrators. Amounts are nano-units of the operator's currency.

ALTER TABLE api_keys ADD COLUMN budget_per_day INTEGER;
ALTER TABLE api_keys ADD COLUMN budget_per_month INTEGER;
ALTER TABLE api_keys ADD COLUMN is_admin INTEGER NOT NULL DEFAULT 0;

CREATE TABLE tenant_budgets (
    tenant TEXT PRIMARY KEY,
    per_day INTEGER,
    per_month INTEGER
) WITHOUT ROWID;

-- What was spent and reserved of a key's budget in a day, and spent in its month before; under an empty `api_key` of the
-- budget of its tenant.
CREATE TABLE budget_levels (
    tenant TEXT NOT NULL,
    api_key TEXT NOT NULL,
    day INTEGER NOT NULL,
    day_cost INTEGER NOT NULL,
    month_cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, api_key)
) WITHOUT ROWID;

-- SQLite cannot change a primary key.
CREATE TABLE api_key_model_days (
    tenant TEXT NOT NULL,
    day INTEGER NOT NULL,
    api_key TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, api_key, model)
) WITHOUT ROWID;
INSERT INTO api_key_model_days
SELECT tenant, day, api_key, '', requests, input_tokens, 0, output_tokens, 0 FROM api_key_days;
DROP TABLE api_key_days;
ALTER TABLE api_key_model_days RENAME TO api_key_days;

-- What was reserved of budgets for a background response; NULL where no budget applies.
ALTER TABLE jobs ADD COLUMN cost_taken INTEGER;
