-- Chunks of files in vector stores. Queries of the keyword index are in `sqlite/words.sql` and `postgres/words.sql`.

-- put_searched_store --
INSERT INTO searched_stores (id, tenant) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING

-- searched_store --
-- An emptied store starts at revision 1 again with another number, so the number is part of its revision.
SELECT seq, chunks, terms, seq * 4294967296 + revision FROM searched_stores WHERE id = $1 AND tenant = $2

-- newest_version --
-- The newest version of a file, published or unfinished.
SELECT max(version) FROM indexed_files WHERE store = $1 AND file_id = $2 AND state < 2

-- put_indexed_file --
INSERT INTO indexed_files (store, tenant, file_id, version, filename) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (store, file_id, version) WHERE state < 2 DO NOTHING

-- indexed_file --
SELECT seq, state, chunks, terms, bytes FROM indexed_files
WHERE store = $1 AND file_id = $2 AND version = $3 AND state < 2 FOR UPDATE

-- chunks_at --
-- Existing chunks between two numbers.
SELECT seq FROM chunks WHERE seq >= $1 AND seq <= $2

-- put_chunk --
INSERT INTO chunks (seq, length, tokens, vector, body) VALUES ($1, $2, $3, $4, $5)

-- delete_chunks --
DELETE FROM chunks WHERE seq >= $1 AND seq <= $2

-- put_signatures --
INSERT INTO chunk_signatures (seq, count, signatures) VALUES ($1, $2, $3)

-- delete_signatures --
DELETE FROM chunk_signatures WHERE seq >= $1 AND seq <= $2

-- grow_indexed_file --
UPDATE indexed_files SET chunks = chunks + $2, terms = terms + $3, bytes = bytes + $4 WHERE seq = $1

-- publish_indexed_file --
UPDATE indexed_files SET state = 1 WHERE seq = $1

-- drop_other_versions --
-- All versions of a file in a store up to this one, except the row `$4`.
UPDATE indexed_files SET state = 2
WHERE store = $1 AND file_id = $2 AND version <= $3 AND seq <> $4 AND state < 2

-- drop_indexed_file --
UPDATE indexed_files SET state = 2 WHERE store = $1 AND file_id = $2 AND state < 2

-- drop_unfinished_files --
-- Unfinished versions of a file.
UPDATE indexed_files SET state = 2 WHERE store = $1 AND file_id = $2 AND state = 0

-- drop_indexed_files --
UPDATE indexed_files SET state = 2 WHERE store = $1 AND state < 2

-- count_searched_store --
-- The published contents of a store.
UPDATE searched_stores
SET chunks = (SELECT coalesce(sum(chunks), 0) FROM indexed_files WHERE store = $1 AND state = 1),
    terms = (SELECT coalesce(sum(terms), 0) FROM indexed_files WHERE store = $1 AND state = 1),
    revision = revision + 1
WHERE seq = $1

-- delete_attributes --
DELETE FROM file_attributes WHERE store = $1 AND file_id = $2

-- delete_all_attributes --
DELETE FROM file_attributes WHERE store = $1

-- put_attribute --
INSERT INTO file_attributes (store, file_id, key, text, number, flag) VALUES ($1, $2, $3, $4, $5, $6)

-- dropped_file --
SELECT seq, store FROM indexed_files WHERE state = 2 ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED

-- lock_dropped_file --
SELECT seq FROM indexed_files WHERE seq = $1 AND state = 2 FOR UPDATE

-- some_chunks --
SELECT seq, body FROM chunks WHERE seq >= $1 AND seq <= $2 ORDER BY seq LIMIT $3

-- delete_indexed_file --
DELETE FROM indexed_files WHERE seq = $1

-- delete_searched_store --
-- Only a store without files. If files are added later, it receives another number.
DELETE FROM searched_stores WHERE seq = $1
AND NOT EXISTS (SELECT 1 FROM indexed_files WHERE store = $1)
AND NOT EXISTS (SELECT 1 FROM file_attributes WHERE store = $1)
RETURNING id

-- found_files --
-- Published files that pass a filter.
SELECT seq FROM indexed_files WHERE store = $1 AND state = 1 {where}

-- signatures --
-- The signatures of the chunks of one file.
SELECT seq, count, signatures FROM chunk_signatures WHERE seq >= $1 AND seq <= $2 ORDER BY seq

-- signatures_of_store --
SELECT chunk_signatures.seq, count, signatures
FROM indexed_files JOIN chunk_signatures
ON chunk_signatures.seq BETWEEN indexed_files.seq * 1048576 AND indexed_files.seq * 1048576 + 1048575
WHERE store = $1 AND state = 1

-- attributes_of_file --
SELECT key, text, number, flag FROM file_attributes WHERE store = $1 AND file_id = $2 ORDER BY key
