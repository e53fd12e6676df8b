-- put_report --
INSERT INTO reports (id, server, model, started_at, summary, body) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE
SET server = excluded.server, model = excluded.model, started_at = excluded.started_at, summary = excluded.summary,
    body = excluded.body

-- trim_reports_of --
DELETE FROM reports
WHERE server = $1 AND model = $2 AND id NOT IN (
    SELECT id FROM reports WHERE server = $1 AND model = $2 ORDER BY started_at DESC, id DESC LIMIT $3
)

-- trim_reports --
DELETE FROM reports WHERE id NOT IN (SELECT id FROM reports ORDER BY started_at DESC, id DESC LIMIT $1)

-- reports --
SELECT id, server, model, started_at, summary FROM reports ORDER BY started_at DESC, id DESC

-- find_report --
SELECT id, server, model, started_at, summary, body FROM reports WHERE id = $1

-- delete_report --
DELETE FROM reports WHERE id = $1 RETURNING id
