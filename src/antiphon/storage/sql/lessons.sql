-- put_lesson --
INSERT INTO model_lessons (place, model, tenant, name, said, learned_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (place, model, tenant, name) DO UPDATE SET said = excluded.said, learned_at = excluded.learned_at

-- trim_lessons --
DELETE FROM model_lessons
WHERE place = $1 AND (
    learned_at < $2 OR (model, tenant, name) NOT IN (
        SELECT model, tenant, name FROM model_lessons
        WHERE place = $1 ORDER BY learned_at DESC, model, tenant, name LIMIT $3
    )
)

-- lessons --
SELECT place, model, tenant, name, said, learned_at FROM model_lessons
WHERE learned_at >= $1 ORDER BY place, model, learned_at, tenant, name

-- delete_lessons --
DELETE FROM model_lessons WHERE place = $1 AND model = $2 RETURNING name

-- forget_lesson --
DELETE FROM model_lessons WHERE place = $1 AND model = $2 AND tenant = $3 AND name = $4 RETURNING name
