-- put_conversation --
INSERT INTO conversations (id, tenant, created_at, metadata, next_position, holder, owner)
VALUES ($1, $2, $3, $4, 0, NULL, NULL)

-- put_conversation_item --
INSERT INTO conversation_items (conversation, position, id, sealed, body) VALUES ($1, $2, $3, $4, $5)

-- load_conversation --
SELECT id, created_at, metadata, tenant, next_position, item_count, item_bytes FROM conversations
WHERE id = $1 AND tenant = $2

-- conversations --
SELECT id, created_at, metadata, tenant, next_position, item_count, item_bytes FROM conversations
WHERE tenant = $3 AND id < $1 ORDER BY id DESC LIMIT $2

-- conversations_of_all --
SELECT id, created_at, metadata, tenant, next_position, item_count, item_bytes FROM conversations
WHERE id < $1 ORDER BY id DESC LIMIT $2

-- lock_conversation --
-- Every change of a conversation begins with this statement. The last column is 1 if the holder's worker has expired.
SELECT next_position, holder, (SELECT expired FROM workers WHERE workers.id = conversations.owner)
FROM conversations WHERE id = $1 AND tenant = $2 FOR UPDATE

-- update_conversation --
UPDATE conversations SET metadata = $3 WHERE id = $1 AND tenant = $2
RETURNING id, created_at, metadata, tenant, next_position, item_count, item_bytes

-- delete_conversation --
DELETE FROM conversations WHERE id = $1

-- move_end --
-- The appended items are counted.
UPDATE conversations SET next_position = $2, item_count = item_count + $3, item_bytes = item_bytes + $4 WHERE id = $1

-- hold --
UPDATE conversations SET holder = $2, owner = $3 WHERE id = $1
RETURNING (SELECT expired FROM workers WHERE workers.id = $3)

-- let_go --
UPDATE conversations SET holder = NULL, owner = NULL WHERE id = $1 AND holder = $2

-- position_of --
SELECT position FROM conversation_items WHERE conversation = $1 AND id = $2

-- conversation_items --
SELECT id, body, sealed FROM conversation_items WHERE conversation = $1 ORDER BY position

-- conversation_up --
SELECT id, body, sealed FROM conversation_items
WHERE conversation = $1 AND position > $2 AND position < $3
ORDER BY position LIMIT $4

-- conversation_down --
SELECT id, body, sealed FROM conversation_items
WHERE conversation = $1 AND position > $2 AND position < $3
ORDER BY position DESC LIMIT $4

-- conversation_up_sizes --
SELECT length(body) + coalesce(length(sealed), 0) FROM conversation_items
WHERE conversation = $1 AND position > $2 AND position < $3
ORDER BY position LIMIT $4

-- conversation_down_sizes --
SELECT length(body) + coalesce(length(sealed), 0) FROM conversation_items
WHERE conversation = $1 AND position > $2 AND position < $3
ORDER BY position DESC LIMIT $4

-- conversation_item --
SELECT conversation_items.id, conversation_items.body, conversation_items.sealed
FROM conversation_items JOIN conversations ON conversations.id = conversation_items.conversation
WHERE conversations.id = $1 AND conversations.tenant = $2 AND conversation_items.id = $3

-- delete_item --
DELETE FROM conversation_items WHERE conversation = $1 AND id = $2
RETURNING length(body) + coalesce(length(sealed), 0)

-- count_deleted --
UPDATE conversations SET item_count = item_count - 1, item_bytes = item_bytes - $2 WHERE id = $1
