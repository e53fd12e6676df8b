-- put_view --
INSERT INTO saved_views (id, owner, page, name, query, created_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (owner, page, name) DO UPDATE SET query = excluded.query
RETURNING id, name, page, query, created_at

-- count_other_views --
SELECT count(*) FROM saved_views WHERE owner = $1 AND NOT (page = $2 AND name = $3)

-- views --
SELECT id, name, page, query, created_at FROM saved_views WHERE owner = $1 ORDER BY page, name

-- delete_view --
DELETE FROM saved_views WHERE id = $1 AND owner = $2 RETURNING id

-- delete_views_of --
DELETE FROM saved_views WHERE owner = $1
