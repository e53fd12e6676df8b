-- Responses, and the items that each brought in or put out.
--
-- Items hang on `seq`, not on the response's id: new rows land at the end of both trees instead of at a random place,
-- and the index on item ids comes out sorted by age. A response that is saved again gets a new `seq`.

CREATE TABLE responses (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    previous_response_id TEXT,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    body BLOB NOT NULL
);

CREATE INDEX responses_by_age ON responses (created_at);

-- An item's id is not unique: clients send their history again, item by item.
CREATE TABLE items (
    response INTEGER NOT NULL REFERENCES responses (seq) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    is_output INTEGER NOT NULL,
    id TEXT NOT NULL,
    sealed TEXT,
    body BLOB NOT NULL,
    PRIMARY KEY (response, position)
) WITHOUT ROWID;

CREATE INDEX items_by_id ON items (id);
