first=$(curl -s http://127.0.0.1:8321/v1/responses \
  -H 'content-type: application/json' \
  -d '{"model": "demo", "input": "My name is Ada."}' | jq -r .id)

curl -s http://127.0.0.1:8321/v1/responses \
  -H 'content-type: application/json' \
  -d '{"model": "demo", "input": "What is my name?", "previous_response_id": "'"$first"'"}' | jq -r .output_text
