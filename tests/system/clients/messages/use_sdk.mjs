// Anthropic's SDK for TypeScript: the same calls as in use_sdk.py. Prints what it saw as JSON.
// Arguments: the name under which the SDK is installed in the working directory, and the server's URL.

import { createRequire } from "node:module";

const [, , sdk, baseURL] = process.argv;
const { default: Anthropic, NotFoundError } = createRequire(`${process.cwd()}/`)(sdk);

const model = "fake-model";
const tools = [
  {
    name: "tide",
    description: "Tells the tide.",
    input_schema: { type: "object", properties: { port: { type: "string" } } },
  },
];
const client = new Anthropic({ baseURL, apiKey: "sk-test", maxRetries: 0 });

function body(content, more) {
  const messages = typeof content === "string" ? [{ role: "user", content }] : content;
  return { model, max_tokens: 1000, messages, ...more };
}

const create = (content, more) => client.messages.create(body(content, more));
const stream = (content, more) => client.messages.stream(body(content, more)).finalMessage();

/** A tool and its result, with the thinking before it. */
async function conversation(send) {
  const thinking = { type: "enabled", budget_tokens: 1024, display: "summarized" };
  const first = await send("How is the tide?", { tools, thinking });
  const use = first.content.find((block) => block.type === "tool_use");
  const history = [
    { role: "user", content: "How is the tide?" },
    { role: "assistant", content: first.content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "High." }] },
  ];
  const second = await send(history, { tools, thinking });
  return [first.content.map((block) => block.type), first.stop_reason, use.input, second.content.at(-1).text];
}

async function models() {
  const ids = [];
  for await (const one of client.models.list({ limit: 1000 })) ids.push(one.id);
  return ids;
}

async function refusal() {
  try {
    await client.messages.create({ model: "none", max_tokens: 1, messages: [{ role: "user", content: "a" }] });
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    return [error.status, Boolean(error.requestID), error.error.error.type];
  }
  return [];
}

const seen = {
  plain: await conversation(create),
  streamed: await conversation(stream),
  stopped: (await create("Go.", { stop_sequences: ["END"] })).stop_sequence,
  counted: (await client.messages.countTokens({ model, messages: [{ role: "user", content: "Hi" }] })).input_tokens,
  models: await models(),
  refused: await refusal(),
};
console.log(JSON.stringify(seen));
