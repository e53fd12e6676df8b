id=$(curl -s http://127.0.0.1:8321/v1/responses \
  -H 'content-type: application/json' \
  -d '{"model": "demo", "input": "Write a story.", "background": true}' | jq -r .id)

status=queued
while [ "$status" = queued ] || [ "$status" = in_progress ]; do
  echo "$status"
  sleep 0.5
  status=$(curl -s "http://127.0.0.1:8321/v1/responses/$id" | jq -r .status)
done
echo "$status"
curl -s "http://127.0.0.1:8321/v1/responses/$id" | jq -r .output_text
