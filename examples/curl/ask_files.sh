echo 'High water in Brest is at nine.' > tides.md
file=$(curl -s http://127.0.0.1:8321/v1/files -F purpose=user_data -F file=@tides.md | jq -r .id)
store=$(curl -s http://127.0.0.1:8321/v1/vector_stores \
  -H 'content-type: application/json' \
  -d '{"name": "tides", "file_ids": ["'"$file"'"]}' | jq -r .id)

# Wait until the file is ingested.
until [ "$(curl -s "http://127.0.0.1:8321/v1/vector_stores/$store" | jq -r .status)" = completed ]; do sleep 0.2; done

curl -s http://127.0.0.1:8321/v1/responses -H 'content-type: application/json' -d '{
  "model": "demo",
  "input": "When is high water in Brest?",
  "tools": [{"type": "file_search", "vector_store_ids": ["'"$store"'"]}]
}' | jq -r '.output_text, "Source: " + (.output[] | select(.type == "message").content[0].annotations[0].filename)'
