-- use_blob_by_response --
-- Only for existing blobs of the same tenant: an item can contain any name.
INSERT INTO item_blobs (blob, tenant, size, response, item)
SELECT id, tenant, $3, $4, $5 FROM blobs WHERE id = $1 AND tenant = $2 AND uses >= 0
ON CONFLICT DO NOTHING

-- use_blob_by_conversation --
INSERT INTO item_blobs (blob, tenant, size, conversation, item)
SELECT id, tenant, $3, $4, $5 FROM blobs WHERE id = $1 AND tenant = $2 AND uses >= 0
ON CONFLICT DO NOTHING

-- drop_blob_of_conversation --
DELETE FROM item_blobs WHERE conversation = $1 AND item = $2

-- owns_blob --
SELECT id FROM blobs WHERE id = $1 AND tenant = $2 AND uses >= 0
