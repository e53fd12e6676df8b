import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8321/v1", apiKey: "none" });

const response = await client.responses.create({ model: "demo", input: "Hello!" });
console.log(response.output_text);
