import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8321/v1", apiKey: "none" });

const store = await client.vectorStores.create({ name: "tides" });
const file = new File(["High water in Brest is at nine."], "tides.md");
await client.vectorStores.files.uploadAndPoll(store.id, file);

const response = await client.responses.create({
  model: "demo",
  input: "When is high water in Brest?",
  tools: [{ type: "file_search", vector_store_ids: [store.id] }],
});
console.log(response.output_text);
for (const item of response.output) {
  for (const part of item.type === "message" ? item.content : []) {
    if (part.type !== "output_text") continue;
    for (const source of part.annotations) {
      if (source.type === "file_citation") console.log("Source:", source.filename);
    }
  }
}
