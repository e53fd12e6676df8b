-- put_profile --
INSERT INTO model_profiles (place, model, digest, body, probed_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (place, model) DO UPDATE
SET digest = excluded.digest, body = excluded.body, probed_at = excluded.probed_at

-- profiles --
SELECT place, model, digest, body, probed_at FROM model_profiles ORDER BY place, model

-- delete_profile --
DELETE FROM model_profiles WHERE place = $1 AND model = $2 RETURNING model
