// Runs scenarios with Vercel's AI SDK: each line of standard input is one, and is answered with a line, both of JSON:
//   {"major": 7, "scenario": "text", "url": "http://…/v1", "prompts": ["Hi."]}
// The answer is what the SDK returns. Scenario `chain` sends `previousResponseId` instead of the earlier turns. Further keys: `stream`, `api` (`chat` instead of `responses`), `model`, `mcp` (the URL of an MCP server), `store` (the id of a vector store), `requireApproval`, `approve`, `openai` (provider options).

import { createInterface } from "node:readline";

globalThis.AI_SDK_LOG_WARNINGS = false; // to standard output, which is for the results

async function play(options) {
  const { generateText, streamText, Output, jsonSchema, stepCountIs, tool } = await import(`ai-${options.major}`);
  const { createOpenAI } = await import(`ai-openai-${options.major}`);
  const provider = createOpenAI({ baseURL: options.url, apiKey: "sk-test" });

  const object = (properties) =>
    jsonSchema({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });

  const add = tool({
    description: "Add two numbers.",
    inputSchema: object({ x: { type: "number" }, y: { type: "number" } }),
    execute: ({ x, y }) => ({ sum: x + y }),
  });

  const SCENARIOS = {
    text: () => ({}),
    tools: () => ({ tools: { add }, stopWhen: stepCountIs(3) }),
    object: () => ({ output: Output.object({ schema: object({ name: { type: "string" } }) }) }),
    chain: (previous) => ({
      providerOptions: { openai: { ...options.openai, ...(previous && { previousResponseId: previous }) } },
    }),
    code: () => ({ tools: { code_interpreter: provider.tools.codeInterpreter({}) } }),
    image: () => ({ tools: { image_generation: provider.tools.imageGeneration({ outputFormat: "png" }) } }),
    web: () => ({ tools: { web_search: provider.tools.webSearch({}) } }),
    files: () => ({
      tools: { file_search: provider.tools.fileSearch({ vectorStoreIds: [options.store], maxNumResults: 5 }) },
    }),
    mcp: () => ({
      tools: {
        sums: provider.tools.mcp({
          serverLabel: "sums",
          serverUrl: options.mcp,
          requireApproval: options.requireApproval ?? "never",
        }),
      },
    }),
  };

  async function generated(settings) {
    return { result: await generateText(settings), parts: [] };
  }

  async function streamed(settings) {
    const result = streamText({ ...settings, onError: () => {} });
    const parts = [];
    for await (const part of result.fullStream) {
      if (part.type === "error") throw part.error;
      parts.push(part.type);
    }
    return { result, parts };
  }

  async function turn(messages, previous) {
    const { result, parts } = await (options.stream ? streamed : generated)({
      model: provider[options.api ?? "responses"](options.model ?? "fake-model"),
      messages,
      maxRetries: 0,
      providerOptions: { openai: options.openai ?? {} },
      ...SCENARIOS[options.scenario](previous),
    });
    const steps = await result.steps;
    const metadata = await result.providerMetadata;
    const { messages: answered } = await result.response;
    const content = steps.flatMap((step) => step.content);
    const displayed = {
      text: await result.text,
      reasoning: await result.reasoningText,
      finishReason: await result.finishReason,
      totalTokens: (await result.usage).totalTokens,
      object: options.scenario === "object" ? await result.output : undefined,
      steps: steps.length,
      content: content.map(({ type, toolName, input, output, error, url, toolCall }) => ({
        type,
        toolName: toolName ?? toolCall?.toolName,
        input: input ?? toolCall?.input,
        output,
        error,
        url,
      })),
      parts,
      warnings: steps.flatMap((step) => step.warnings ?? []),
    };
    const requests = content.filter((part) => part.type === "tool-approval-request");
    return { displayed, answered, requests, responseId: metadata?.openai?.responseId };
  }

  function decided({ approvalId }) {
    return { type: "tool-approval-response", approvalId, approved: options.approve, providerExecuted: true };
  }

  async function turns() {
    const messages = [];
    const all = [];
    let previous;
    for (const prompt of options.prompts) {
      if (options.scenario === "chain") messages.length = 0; // the server has the turns before
      messages.push({ role: "user", content: prompt });
      let { displayed, answered, requests, responseId } = await turn(messages, previous);
      previous = responseId;
      all.push(displayed);
      messages.push(...answered);
      while (requests.length && options.approve !== undefined) {
        messages.push({ role: "tool", content: requests.map(decided) });
        ({ displayed, answered, requests } = await turn(messages));
        all.push(displayed);
        messages.push(...answered);
      }
    }
    return { turns: all };
  }

  return turns();
}

function failed(error) {
  return { error: { name: error.name, message: error.message, status: error.statusCode, data: error.data } };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await play(JSON.parse(line)).catch(failed)));
}
