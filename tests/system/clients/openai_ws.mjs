// The official SDK for JavaScript, over a WebSocket: two responses, of which the second continues the first.
// Argument: the base URL. Prints the types of the events and the texts as JSON.

import { createRequire } from "node:module";

const load = createRequire(`${process.cwd()}/`);
const { OpenAI } = load("openai");
const { ResponsesWS } = load("openai/resources/responses/ws");

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "sk-test", maxRetries: 0 });
const socket = new ResponsesWS(client);
const answers = [];
let events = [];

function sendRequest(input, previous) {
  const request = { type: "response.create", model: "fake-model", input, store: false };
  socket.send(previous ? { ...request, previous_response_id: previous } : request);
}

socket.on("error", (error) => {
  console.error(error.message);
  process.exit(1);
});
socket.on("event", (event) => {
  events.push(event.type);
  if (event.type !== "response.completed") return;
  const text = event.response.output.flatMap((item) => item.content ?? []).map((part) => part.text).join("");
  answers.push({ events, text });
  events = [];
  if (answers.length === 1) return sendRequest("bye", event.response.id);
  console.log(JSON.stringify(answers));
  socket.close();
});
sendRequest("hi");
