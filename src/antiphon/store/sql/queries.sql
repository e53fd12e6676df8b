-- next_seq --
-- The first free place; asked inside the transaction that fills it.
SELECT coalesce(max(seq), 0) + 1 FROM responses

-- put_responses --
-- Replacing a response drops its old items with it: the foreign key cascades.
INSERT OR REPLACE INTO responses (seq, id, previous_response_id, created_at, status, body)
VALUES (?, ?, ?, ?, ?, ?)

-- put_items --
-- The input first, then the output; `position` counts through both.
INSERT INTO items (response, position, is_output, id, sealed, body)
VALUES (?, ?, ?, ?, ?, ?)

-- load --
-- One row an item, or a single one where there is none; the response's body comes with the first only, it may be big.
SELECT
    responses.created_at, responses.status, responses.previous_response_id,
    CASE WHEN coalesce(items.position, 0) = 0 THEN responses.body END,
    items.is_output, items.id, items.body, items.sealed
FROM responses LEFT JOIN items ON items.response = responses.seq
WHERE responses.id = ?
ORDER BY items.position

-- delete --
-- Its items go too; responses that name it as their parent stay as they are.
DELETE FROM responses WHERE id = ?

-- history --
-- Every response on the way up, with its items, in the order of storage: who reads it links parents to children.
-- UNION rather than UNION ALL, so a cycle ends the walk.
WITH RECURSIVE chain (seq, parent) AS (
    SELECT seq, previous_response_id FROM responses WHERE id = ?
    UNION
    SELECT responses.seq, responses.previous_response_id FROM chain JOIN responses ON responses.id = chain.parent
)
SELECT responses.id, responses.previous_response_id, items.id, items.body, items.sealed
FROM responses LEFT JOIN items ON items.response = responses.seq
WHERE responses.seq IN (SELECT seq FROM chain)
ORDER BY responses.seq, items.position

-- find_item --
-- The one stored last, where clients sent an item again.
SELECT id, body, sealed FROM items WHERE id = ? ORDER BY response DESC, position DESC LIMIT 1

-- expire --
-- A bounded step of it, so that saves need not wait for a big clean-up.
DELETE FROM responses
WHERE seq IN (SELECT seq FROM responses WHERE created_at < ? ORDER BY created_at LIMIT ?)
