import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8321/v1", apiKey: "none" });

function tideAt({ place }: { place: string }): string {
  return `High water in ${place} is at 14:05.`;
}

const tools: OpenAI.Responses.FunctionTool[] = [
  {
    type: "function",
    name: "tide_at",
    description: "Return the time of high water.",
    parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
    strict: null,
  },
];

// A real model decides when to call the function. The scripted model demo calls it because of the second line.
const question = 'When is high water in Dover?\ncall tide_at {"place": "Dover"}';
const first = await client.responses.create({ model: "demo", input: question, tools });
const call = first.output.find((item) => item.type === "function_call");
if (!call) throw new Error("The model did not call the function.");
console.log("The model calls", call.name, "with", call.arguments);

const second = await client.responses.create({
  model: "demo",
  previous_response_id: first.id,
  input: [{ type: "function_call_output", call_id: call.call_id, output: tideAt(JSON.parse(call.arguments)) }],
  tools,
});
console.log(second.output_text);
