cat > tools.json <<'END'
[{
  "type": "function",
  "name": "tide_at",
  "description": "Return the time of high water.",
  "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
}]
END

# A real model decides when to call the function. The scripted model demo calls it because of the second line.
curl -s http://127.0.0.1:8321/v1/responses -H 'content-type: application/json' -o first.json -d '{
  "model": "demo",
  "input": "When is high water in Dover?\ncall tide_at {\"place\": \"Dover\"}",
  "tools": '"$(cat tools.json)"'
}'
jq '.output[0] | {name, arguments, call_id}' first.json

curl -s http://127.0.0.1:8321/v1/responses -H 'content-type: application/json' -d '{
  "model": "demo",
  "previous_response_id": '"$(jq .id first.json)"',
  "input": [{
    "type": "function_call_output",
    "call_id": '"$(jq '.output[0].call_id' first.json)"',
    "output": "High water in Dover is at 14:05."
  }],
  "tools": '"$(cat tools.json)"'
}' | jq -r .output_text
