import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8321/v1", apiKey: "none" });

const first = await client.responses.create({ model: "demo", input: "My name is Ada." });
const second = await client.responses.create({
  model: "demo",
  input: "What is my name?",
  previous_response_id: first.id,
});
console.log(second.output_text);
