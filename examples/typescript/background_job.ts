import { setTimeout } from "node:timers/promises";

import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8321/v1", apiKey: "none" });

let response = await client.responses.create({ model: "demo", input: "Write a story.", background: true });
console.log(response.status);

while (response.status === "queued" || response.status === "in_progress") {
  await setTimeout(500);
  response = await client.responses.retrieve(response.id);
}
console.log(response.status);
console.log(response.output_text);
