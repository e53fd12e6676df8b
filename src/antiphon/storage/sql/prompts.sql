-- put_prompt --
INSERT INTO prompts (id, tenant, newest_version, default_version) VALUES ($1, $2, $3, $3) RETURNING seq

-- put_prompt_version --
INSERT INTO prompt_versions (prompt, tenant, version, created_at, template) VALUES ($1, $2, $3, $4, $5)

-- lock_prompt --
-- Every change of a prompt begins with this statement, so that no two versions have the same number.
SELECT seq, newest_version, default_version FROM prompts WHERE id = $1 AND tenant = $2 FOR UPDATE

-- prompt_place --
SELECT seq, newest_version, default_version FROM prompts WHERE id = $1 AND tenant = $2

-- update_prompt --
UPDATE prompts SET newest_version = $2, default_version = $3 WHERE seq = $1

-- find_prompt --
-- Without a number, the default version.
SELECT prompts.id, prompts.tenant, version, default_version, created_at, template
FROM prompts JOIN prompt_versions ON prompt = prompts.seq
WHERE prompts.id = $1 AND prompts.tenant = $2 AND version = coalesce(CAST($3 AS BIGINT), default_version)

-- prompts_up --
SELECT prompts.id, prompts.tenant, version, default_version, created_at, template
FROM prompts JOIN prompt_versions ON prompt = prompts.seq AND version = default_version
WHERE prompts.tenant = $1 AND prompts.seq > $2 AND prompts.seq < $3 ORDER BY prompts.seq LIMIT $4

-- prompts_down --
SELECT prompts.id, prompts.tenant, version, default_version, created_at, template
FROM prompts JOIN prompt_versions ON prompt = prompts.seq AND version = default_version
WHERE prompts.tenant = $1 AND prompts.seq > $2 AND prompts.seq < $3 ORDER BY prompts.seq DESC LIMIT $4

-- prompt_versions_up --
SELECT prompts.id, prompts.tenant, version, default_version, created_at, template
FROM prompts JOIN prompt_versions ON prompt = prompts.seq
WHERE prompts.seq = $1 AND version > $2 AND version < $3 ORDER BY version LIMIT $4

-- prompt_versions_down --
SELECT prompts.id, prompts.tenant, version, default_version, created_at, template
FROM prompts JOIN prompt_versions ON prompt = prompts.seq
WHERE prompts.seq = $1 AND version > $2 AND version < $3 ORDER BY version DESC LIMIT $4

-- count_prompt_versions --
SELECT count(*) FROM prompt_versions WHERE tenant = $1

-- delete_prompt --
-- Also deletes its versions.
DELETE FROM prompts WHERE id = $1 AND tenant = $2 RETURNING id
