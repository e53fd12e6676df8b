-- keep_secret --
INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING

-- find_secret --
SELECT value FROM secrets WHERE name = $1
