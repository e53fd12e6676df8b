-- The chunks of files in vector stores, their keyword index, their vectors, and the attributes of the files.

-- `seq` begins every term of the store in the index. `chunks` and `terms` count what a search finds. `revision` grows
-- when that changes.
CREATE TABLE searched_stores (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    chunks INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 0
);

-- One version of a file in a store. `state`: 0 is being written, 1 is found, 2 waits to be removed.
-- The number of a chunk is `seq` * 2^20 + its position, so `seq` is never used again.
CREATE TABLE indexed_files (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    store INTEGER NOT NULL REFERENCES searched_stores (seq),
    tenant TEXT NOT NULL,
    file_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    filename TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX indexed_files_by_version ON indexed_files (store, file_id, version) WHERE state < 2;
CREATE INDEX indexed_files_found ON indexed_files (store) WHERE state = 1;
CREATE INDEX indexed_files_dropped ON indexed_files (seq) WHERE state = 2;
CREATE INDEX indexed_files_unseen ON indexed_files (store) WHERE state <> 1;

-- One of `text`, `number` and `flag` is set.
CREATE TABLE file_attributes (
    store INTEGER NOT NULL REFERENCES searched_stores (seq),
    file_id TEXT NOT NULL,
    key TEXT NOT NULL,
    text TEXT,
    number REAL,
    flag INTEGER,
    PRIMARY KEY (store, file_id, key)
) WITHOUT ROWID;

-- `length` is the number of terms.
CREATE TABLE chunks (
    seq INTEGER PRIMARY KEY,
    length INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    vector BLOB,
    body TEXT NOT NULL
);

-- The signatures of the vectors of chunks that follow each other, beginning with number `seq`.
CREATE TABLE chunk_signatures (
    seq INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    signatures BLOB NOT NULL
);

-- The index has the terms alone: `ascii` cuts at blanks only, since a term has nothing else that it cuts at.
CREATE VIRTUAL TABLE chunk_words USING fts5 (words, content = '', tokenize = 'ascii');
CREATE VIRTUAL TABLE chunk_vocabulary USING fts5vocab ('chunk_words', 'row');
