-- The keyword index of chunks. Every term begins with the number of its store.

-- put_words --
-- `$2` has the terms of chunk `$1`, separated by blanks.
INSERT INTO chunk_words (seq, words)
SELECT $1::bigint, coalesce(array_to_tsvector(array_agg(word || mark)), ''::tsvector)
FROM (SELECT word, count(*) AS times FROM unnest(string_to_array($2::text, ' ')) AS word WHERE word <> '' GROUP BY word) AS counted
JOIN (VALUES ('', 1), ('+2', 2), ('+4', 4)) AS marks (mark, least) ON times >= least

-- delete_words --
DELETE FROM chunk_words WHERE seq = $1 AND $2::text IS NOT NULL

-- word_counts --
-- The number of published chunks of store `$2` that contain each of the terms in a JSON array; terms without chunks are
-- omitted. The index also has the chunks of other versions, which are not counted.
SELECT word, count(*) FROM jsonb_array_elements_text($1::text::jsonb) AS word
CROSS JOIN LATERAL antiphon_chunks_with(word) AS found (seq)
WHERE found.seq >> 20 NOT IN (SELECT seq FROM indexed_files WHERE store = $2 AND state <> 1)
GROUP BY word

-- match_words --
-- The chunks of store `$2` that match best, among the first `$5` with each lexeme. `$4` is a JSON array of lexemes and
-- their weights; SQLite uses `$1`.
SELECT best.number, length, body
FROM (
    SELECT hits.seq AS number, sum(weight) AS rank
    FROM jsonb_to_recordset($4::text::jsonb) AS wanted (lexeme TEXT, weight DOUBLE PRECISION)
    CROSS JOIN LATERAL (
        SELECT one.seq FROM antiphon_chunks_with(wanted.lexeme) AS one (seq)
        WHERE one.seq >> 20 IN (SELECT seq FROM indexed_files WHERE store = $2 AND state = 1 {where})
        LIMIT $5
    ) AS hits
    WHERE $1::text <> ''
    GROUP BY hits.seq ORDER BY sum(weight) DESC, hits.seq LIMIT $3
) AS best
JOIN chunks ON chunks.seq = best.number
ORDER BY best.rank DESC, best.number

-- lock_containers_of --
-- Containers of a tenant are created one after the other, until the end of the transaction, so that its quota is exact.
SELECT pg_advisory_xact_lock(22, hashtext($1))

-- lock_versions_of --
-- Versions of prompts of a tenant are created one after the other, so that their limit is exact.
SELECT pg_advisory_xact_lock(23, hashtext($1))

-- lock_views_of --
-- Views of an owner are saved one after the other, so that their limit is exact.
SELECT pg_advisory_xact_lock(24, hashtext($1))

-- lock_endpoints --
-- Endpoints of a tenant are created one after the other, so that their limit is exact.
SELECT pg_advisory_xact_lock(25, hashtext($1))
