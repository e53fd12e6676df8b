curl --no-buffer http://127.0.0.1:8321/v1/responses \
  -H 'content-type: application/json' \
  -d '{"model": "demo", "input": "Hello!", "stream": true}'
