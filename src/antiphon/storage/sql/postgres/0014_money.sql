-- Usage by model, what it costs, budgets, and keys of administrators. Amounts are nano-units of the operator's currency.

ALTER TABLE api_keys
    ADD COLUMN budget_per_day BIGINT,
    ADD COLUMN budget_per_month BIGINT,
    ADD COLUMN is_admin INTEGER NOT NULL DEFAULT 0;

CREATE TABLE tenant_budgets (
    tenant TEXT PRIMARY KEY,
    per_day BIGINT,
    per_month BIGINT
);
ALTER TABLE tenant_budgets ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON tenant_budgets USING (antiphon_sees(tenant));

-- What was spent and reserved of a key's budget in a day, and spent in its month before; under an empty `api_key` of the
-- budget of its tenant.
CREATE TABLE budget_levels (
    tenant TEXT NOT NULL,
    api_key TEXT NOT NULL,
    day BIGINT NOT NULL,
    day_cost BIGINT NOT NULL,
    month_cost BIGINT NOT NULL,
    PRIMARY KEY (tenant, api_key)
);
ALTER TABLE budget_levels ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants ON budget_levels USING (antiphon_sees(tenant));

ALTER TABLE api_key_days
    ADD COLUMN model TEXT NOT NULL DEFAULT '',
    ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN cost BIGINT NOT NULL DEFAULT 0,
    DROP CONSTRAINT api_key_days_pkey,
    ADD PRIMARY KEY (tenant, day, api_key, model);

-- What was reserved of budgets for a background response; NULL where no budget applies.
ALTER TABLE jobs ADD COLUMN cost_taken BIGINT;
