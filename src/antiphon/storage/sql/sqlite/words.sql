-- The keyword index of chunks. Every term begins with the number of its store.

-- put_words --
-- `$2` has the terms of chunk `$1`, separated by blanks.
INSERT INTO chunk_words (rowid, words) VALUES ($1, $2)

-- delete_words --
INSERT INTO chunk_words (chunk_words, rowid, words) VALUES ('delete', $1, $2)

-- word_counts --
-- The number of published chunks of store `$2` that contain each of the terms in a JSON array; terms without chunks can
-- be omitted. The index also has the chunks of other versions, which are not counted.
SELECT term, doc - (
    SELECT count(*) FROM indexed_files CROSS JOIN chunk_words
    WHERE store = $2 AND state <> 1 AND chunk_words MATCH '"' || term || '"'
    AND chunk_words.rowid BETWEEN indexed_files.seq << 20 AND (indexed_files.seq + 1 << 20) - 1
)
FROM json_each($1) CROSS JOIN chunk_vocabulary ON term = value

-- match_words --
-- The chunks of store `$2` that match best, among the first `$5`: ranking all would be slow for a word in most chunks.
-- `$1` is the expression of the index; PostgreSQL uses `$4`.
SELECT best.number, length, body
FROM (
    SELECT number, rank FROM (
        SELECT rowid AS number, rank FROM chunk_words
        WHERE chunk_words MATCH $1 AND $4 <> ''
        AND (rowid >> 20) IN (SELECT seq FROM indexed_files WHERE store = $2 AND state = 1 {where})
        LIMIT $5
    )
    ORDER BY rank, number LIMIT $3
) AS best
JOIN chunks ON chunks.seq = best.number
ORDER BY best.rank, best.number

-- lock_containers_of --
-- SQLite has only one writer, so no lock is needed.
SELECT $1

-- lock_versions_of --
-- SQLite has only one writer, so no lock is needed.
SELECT $1

-- lock_views_of --
-- SQLite has only one writer, so no lock is needed.
SELECT $1

-- lock_endpoints --
-- SQLite has only one writer, so no lock is needed.
SELECT $1
