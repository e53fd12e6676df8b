import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8321/v1", apiKey: "none" });

const stream = await client.responses.create({ model: "demo", input: "Hello!", stream: true });
for await (const event of stream) {
  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
}
console.log();
