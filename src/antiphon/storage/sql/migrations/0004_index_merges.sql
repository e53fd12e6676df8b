-- SQLite's keyword index merges its parts in small steps of its own (`storage/sqlite/words.py`), instead of within the
-- transaction that adds words: such a merge can hold the writer for 200 ms. 2000 parts are the most that the index allows.

-- sqlite: INSERT INTO chunk_words (chunk_words, rank) VALUES ('automerge', 0);
-- sqlite: INSERT INTO chunk_words (chunk_words, rank) VALUES ('crisismerge', 2000);
