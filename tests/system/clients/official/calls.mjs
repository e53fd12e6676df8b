// The helper calls of the official SDK for JavaScript, as its users write them, against a server with the model `demo`.
// Arguments: the base URL, and the model of the embedding server. Prints a line of JSON for each call: its name, and
// what failed, else an empty text. It runs in the folder in which npm installed the SDK.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { once } from "node:events";

const load = createRequire(`${process.cwd()}/`);
const { OpenAI, toFile, NotFoundError } = load("openai");
const { ResponsesWS } = load("openai/resources/responses/ws");
const { zodTextFormat, zodResponsesFunction } = load("openai/helpers/zod");
const { z } = load("zod");

const [url, embeddingModel] = process.argv.slice(1).filter((one) => !one.endsWith(".mjs"));
const client = new OpenAI({ baseURL: url, apiKey: "sk-test", maxRetries: 0, timeout: 30_000 });
const model = "demo";
const text = "High water in Dover is at nine in the morning.";
const Place = z.object({ name: z.string() });
const tide = zodResponsesFunction({ name: "get_tide", parameters: z.object({ harbour: z.string() }) });
const tideFile = (name = "tides.txt") => toFile(Buffer.from(text), name);
const uploaded = async () => client.files.create({ file: await tideFile(), purpose: "assistants" });
const polled = { pollIntervalMs: 20 };

async function all(pages) {
  const found = [];
  for await (const one of pages) found.push(one);
  return found;
}

async function interrupted() {
  const stream = await client.responses.create({ model, input: "hi", background: true, stream: true });
  const events = [];
  for await (const event of stream) if (events.push(event) === 3) break;
  return [events[0].response.id, events.at(-1).sequence_number];
}

async function overSocket(inputs) {
  const socket = new ResponsesWS(client);
  const texts = [];
  const sendRequest = (input, previous) =>
    socket.send({ type: "response.create", model, input, store: false, previous_response_id: previous });
  try {
    await new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("event", ({ type, response }) => {
        if (type !== "response.completed") return;
        texts.push(response.output[0].content[0].text);
        if (texts.length === inputs.length) resolve();
        else sendRequest(inputs[texts.length], response.id);
      });
      sendRequest(inputs[0]);
    });
  } finally {
    socket.close();
  }
  return texts;
}

const CALLS = {
  "responses.create": async () => {
    const response = await client.responses.create({ model, input: "hi" });
    assert.match(response.output_text, /You said: hi/);
  },
  "responses.create, stream": async () => {
    const events = await all(await client.responses.create({ model, input: "hi", stream: true }));
    assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
    assert.equal(events.at(-1).type, "response.completed");
  },
  "responses.create, previous_response_id": async () => {
    const first = await client.responses.create({ model, input: "My name is Ada." });
    const second = await client.responses.create({ model, input: "What is my name?", previous_response_id: first.id });
    assert.equal(second.output_text, "Your name is Ada.");
  },
  "responses.stream, text": async () => {
    const stream = client.responses.stream({ model, input: "hi" });
    let seen = "";
    stream.on("response.output_text.delta", (event) => (seen = event.snapshot));
    const final = await stream.finalResponse();
    assert.equal(seen, final.output_text);
  },
  "responses.stream, tool call": async () => {
    const input = 'call get_tide {"harbour": "Dover"}';
    const final = await client.responses.stream({ model, input, tools: [tide] }).finalResponse();
    assert.deepEqual(final.output.at(-1).parsed_arguments, { harbour: "Dover" });
  },
  "responses.parse": async () => {
    const response = await client.responses.parse({
      model,
      input: 'answer {"name": "Dover"}',
      text: { format: zodTextFormat(Place, "place") },
    });
    assert.deepEqual(response.output_parsed, { name: "Dover" });
  },
  "responses.parse, tool call": async () => {
    const input = 'call get_tide {"harbour": "Dover"}';
    const { output } = await client.responses.parse({ model, input, tools: [tide] });
    assert.deepEqual(output.at(-1).parsed_arguments, { harbour: "Dover" });
  },
  "responses.create().withResponse": async () => {
    const { data, response, request_id } = await client.responses.create({ model, input: "hi" }).withResponse();
    assert.equal(data.status, "completed");
    assert.equal(response.headers.get("x-request-id"), request_id);
  },
  "responses.create().asResponse": async () => {
    const response = await client.responses.create({ model, input: "hi", stream: true }).asResponse();
    assert.match(await response.text(), /^event: response\.completed$/m);
  },
  "responses.create, background": async () => {
    let response = await client.responses.create({ model, input: "hi", background: true });
    while (["queued", "in_progress"].includes(response.status)) response = await client.responses.retrieve(response.id);
    assert.match(response.output_text, /You said: hi/);
  },
  "responses.retrieve, stream": async () => {
    const [id, last] = await interrupted();
    const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after: last }));
    assert.deepEqual([rest[0].sequence_number, rest.at(-1).type], [last + 1, "response.completed"]);
  },
  "responses.stream, response_id": async () => {
    const [response_id, starting_after] = await interrupted();
    const final = await client.responses.stream({ response_id, starting_after }).finalResponse();
    assert.match(final.output_text, /You said: hi/);
  },
  "responses.inputItems, cancel and delete": async () => {
    const response = await client.responses.create({ model, input: "hi", background: true });
    assert.equal((await all(client.responses.inputItems.list(response.id, { limit: 1 }))).length, 1);
    assert.ok(["cancelled", "completed"].includes((await client.responses.cancel(response.id)).status));
    await client.responses.delete(response.id);
    await assert.rejects(client.responses.retrieve(response.id), NotFoundError);
  },
  "responses.inputTokens.count, compact": async () => {
    assert.ok((await client.responses.inputTokens.count({ model, input: "hi" })).input_tokens > 0);
    const folded = await client.responses.compact({ model, input: [{ role: "user", content: "My name is Ada." }] });
    assert.equal(folded.output.at(-1).type, "compaction");
  },
  ResponsesWS: async () => {
    const texts = await overSocket(["My name is Ada.", "What is my name?"]);
    assert.equal(texts[1], "Your name is Ada.");
  },
  "conversations and items": async () => {
    const message = { type: "message", role: "user", content: "My name is Ada." };
    const created = await client.conversations.create({ items: [message] });
    await client.responses.create({ model, input: "hi", conversation: created.id });
    assert.equal((await all(client.conversations.items.list(created.id, { limit: 1 }))).length, 3);
    assert.deepEqual((await client.conversations.update(created.id, { metadata: { a: "b" } })).metadata, { a: "b" });
    assert.ok((await client.conversations.delete(created.id)).deleted);
  },
  "models and embeddings": async () => {
    assert.ok((await all(client.models.list())).some((one) => one.id === model));
    const { data } = await client.embeddings.create({ model: embeddingModel, input: ["feline", "bill"] });
    assert.deepEqual(data.map((one) => one.embedding.length), [3, 3]);
  },
  "files and uploads": async () => {
    const file = await uploaded();
    assert.equal((await client.files.waitForProcessing(file.id, { pollInterval: 20 })).status, "processed");
    assert.equal(await (await client.files.content(file.id)).text(), text);
    const about = { bytes: text.length, filename: "tides.txt", mime_type: "text/plain", purpose: "assistants" };
    const upload = await client.uploads.create(about);
    const part = await client.uploads.parts.create(upload.id, { data: await tideFile() });
    assert.equal((await client.uploads.complete(upload.id, { part_ids: [part.id] })).status, "completed");
    assert.ok((await client.files.delete(file.id)).deleted);
  },
  "vectorStores.files.uploadAndPoll, search": async () => {
    const store = await client.vectorStores.create({ name: "harbours" });
    const file = await client.vectorStores.files.uploadAndPoll(store.id, await tideFile(), polled);
    assert.equal(file.status, "completed");
    const [found] = await all(client.vectorStores.search(store.id, { query: "When is high water?" }));
    assert.equal(found.file_id, file.id);
  },
  "vectorStores.fileBatches.uploadAndPoll": async () => {
    const store = await client.vectorStores.create({});
    const files = [await tideFile("a.txt"), await tideFile("b.txt")];
    const batch = await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files }, polled);
    assert.equal(batch.file_counts.completed, 2);
  },
  "containers and code_interpreter": async () => {
    const container = await client.containers.create({ name: "tides" });
    const file = await client.containers.files.create(container.id, { file: await tideFile() });
    const content = await client.containers.files.content.retrieve(file.id, { container_id: container.id });
    assert.equal(await content.text(), text);
    const { output } = await client.responses.create({
      model,
      input: "Run: print(6 * 7)",
      tools: [{ type: "code_interpreter", container: container.id }],
      include: ["code_interpreter_call.outputs"],
    });
    assert.equal(output[0].outputs[0].logs.trim(), "42");
    await client.containers.delete(container.id);
  },
  "images.generate and edit": async () => {
    const created = await client.images.generate({ model, prompt: "Draw a red circle." });
    const picture = await toFile(Buffer.from(created.data[0].b64_json, "base64"), "circle.png", { type: "image/png" });
    const edited = await client.images.edit({ model, image: picture, prompt: "Change it to blue." });
    assert.ok(edited.data[0].b64_json.length > 0);
  },
  "webhooks.unwrap": async () => {
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const hook = `http://127.0.0.1:${server.address().port}/hook`;
    const endpoint = await client.webhooks.create({ name: "tides", url: hook, event_types: ["response.completed"] });
    const arriving = once(server, "request");
    const response = await client.responses.create({ model, input: "hi", background: true });
    const [request, reply] = await arriving;
    const body = Buffer.concat(await all(request)).toString();
    reply.end();
    server.close();
    const event = await client.webhooks.unwrap(body, request.headers, endpoint.signing_secret);
    assert.deepEqual([event.type, event.data.id], ["response.completed", response.id]);
    await client.webhooks.delete(endpoint.id);
  },
};

for (const [name, run] of Object.entries(CALLS)) {
  const failed = await run().then(() => "", (error) => `${error.name}: ${error.message}`.slice(0, 600));
  console.log(JSON.stringify({ name, failed }));
}
console.log(JSON.stringify({ version: load("openai/version").VERSION, calls: Object.keys(CALLS).length }));
process.exit(0);
