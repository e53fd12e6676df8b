# A real model needs only the first line of the input. The scripted model demo writes the JSON of the second one.
curl -s http://127.0.0.1:8321/v1/responses -H 'content-type: application/json' -d '{
  "model": "demo",
  "input": "High water in Dover is at 14:05.\nanswer {\"place\": \"Dover\", \"time\": \"14:05\"}",
  "text": {
    "format": {
      "type": "json_schema",
      "name": "tide",
      "strict": true,
      "schema": {
        "type": "object",
        "properties": {"place": {"type": "string"}, "time": {"type": "string"}},
        "required": ["place", "time"],
        "additionalProperties": false
      }
    }
  }
}' | jq -r .output_text
