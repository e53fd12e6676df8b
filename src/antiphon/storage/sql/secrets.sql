-- keep_secret --
INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING

-- try_to_write --
INSERT INTO secrets (name, value) VALUES ('write', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- find_secret --
SELECT value FROM secrets WHERE name = $1
