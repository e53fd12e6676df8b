import { describe, expect, test } from "vitest";
import type { Item, Json } from "../src/api/types.ts";
import { attachmentOf, draftFrom, inputOf, itemOf } from "../src/pages/play/draft.ts";
import { fold } from "../src/pages/play/fold.ts";
import { misfits, textMisfits } from "../src/pages/play/schema_check.ts";
import { bodyOf, mistakesIn, settingsFrom, USUAL, withoutSecrets } from "../src/pages/play/settings.ts";
import { fragmentOf, fromFragment } from "../src/pages/play/share.ts";
import { pendingCalls } from "../src/parts/items/pending.ts";

const UPLOADED = { id: "", filename: "", bytes: 3, created_at: 0, expires_at: null, purpose: "vision", tenant: null };

describe("the request of the playground", () => {
  test("has only what differs from the defaults", () => {
    expect(bodyOf(USUAL, "fast", "Hi", {})).toEqual({ model: "fast", input: "Hi", stream: true });
  });

  const REQUESTS: Json[] = [
    { model: "fast", input: "Hi", stream: true },
    {
      model: "fast",
      instructions: "Be short.",
      input: "Hi",
      previous_response_id: "resp_1",
      tools: [{ type: "web_search" }, { type: "function", name: "f", parameters: { type: "object" } }],
      tool_choice: "required",
      reasoning: { effort: "low" },
      text: { format: { type: "json_schema", name: "n", strict: true, schema: { type: "object" } } },
      temperature: 0.5,
      top_p: 0.9,
      max_output_tokens: 2048,
      store: false,
      background: true,
      antiphon: { cache: true },
    },
    {
      model: "fast",
      input: "Hi",
      conversation: { id: "conv_1" },
      tool_choice: { type: "function", name: "f" },
      reasoning: { effort: "minimal", summary: "auto" },
      text: { format: { type: "json_object" }, verbosity: "low" },
      metadata: { team: "docs" },
      truncation: "auto",
    },
    {
      model: "fast",
      input: "Hi",
      tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }],
      include: ["file_search_call.results"],
    },
    { model: "fast", input: "Hi", include: ["reasoning.encrypted_content", "file_search_call.results"] },
    {
      model: "fast",
      input: "Hi",
      tools: [{ type: "code_interpreter", container: { type: "auto", file_ids: ["file-1"], memory_limit: "4g" } }],
      include: ["code_interpreter_call.outputs"],
    },
    { model: "fast", input: "Hi", tools: [{ type: "code_interpreter", container: "cntr_1" }] },
    {
      model: "fast",
      input: "Hi",
      tools: [{ type: "code_interpreter", container: "cntr_1" }],
      include: ["code_interpreter_call.outputs", "file_search_call.results"],
    },
    { prompt: { id: "pmpt_1" } },
    { model: "fast", prompt: { id: "pmpt_1", version: "2", variables: { city: "Rome" } }, input: "Hi" },
    { model: "fast", prompt: { id: "pmpt_1", variables: {} }, input: "Hi" },
    { model: "fast", prompt: { id: "pmpt_1", version: null, other: 1 }, input: "Hi" },
  ];

  test.each(REQUESTS)("a fork sends what its response was created with: %j", (body) => {
    const { settings, place, input } = settingsFrom(body);
    const { draft, before } = draftFrom(input);
    expect(bodyOf(settings, String(body.model ?? ""), inputOf(draft, before), place)).toEqual(body);
  });

  test("includes the outputs of code unless the reader switches them off", () => {
    const tools = [{ isOn: true, tool: { type: "code_interpreter", container: { type: "auto" } } }];
    expect(bodyOf({ ...USUAL, tools }, "m", "x", {}).include).toEqual(["code_interpreter_call.outputs"]);
    expect(bodyOf({ ...USUAL, tools, outputs: false }, "m", "x", {}).include).toBeUndefined();
    expect(bodyOf({ ...USUAL, tools, results: true }, "m", "x", {}).include).toHaveLength(2);
    const off = tools.map((each) => ({ ...each, isOn: false }));
    expect(bodyOf({ ...USUAL, tools: off }, "m", "x", {}).include).toBeUndefined();
  });

  test("is not sent while the variables of its prompt are no JSON object", () => {
    expect(mistakesIn({ ...USUAL, promptId: "pmpt_1", promptVariables: "[1]" })).toEqual({
      promptVariables: "Not a JSON object",
    });
  });

  test("has attached files whole, and uploaded files by their ids", () => {
    const files = [
      { name: "a.pdf", size: 3, url: "data:application/pdf;base64,QQ==" },
      { name: "a.png", size: 3, url: "data:image/png;base64,QQ==" },
      attachmentOf({ ...UPLOADED, id: "file-1", filename: "b.pdf" }),
      attachmentOf({ ...UPLOADED, id: "file-2", filename: "b.JPEG" }),
    ];
    expect(itemOf({ role: "user", text: "", files }).content).toEqual([
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,QQ==" },
      { type: "input_image", image_url: "data:image/png;base64,QQ==" },
      { type: "input_file", file_id: "file-1" },
      { type: "input_image", file_id: "file-2" },
    ]);
  });

  test("a secret that was struck out has to be entered again", () => {
    const { settings } = settingsFrom({ model: "m", input: "x", tools: [{ type: "mcp", authorization: "••••••" }] });
    expect(mistakesIn(settings).tools).toMatch(/secret/);
    expect(mistakesIn({ ...USUAL, temperature: "warm", other: "[1]" })).toEqual({
      temperature: "Not a number",
      other: "Not a JSON object",
    });
  });

  test("a link has masks for secrets, and gives the settings back", () => {
    const tool = { type: "mcp", server_label: "t", authorization: "secret", headers: { a: "secret" } };
    const settings = { ...USUAL, models: ["a", "b"], tools: [{ isOn: true, tool }], instructions: "Grüße 🎉" };
    const fragment = fragmentOf(settings, "Hi");
    expect(fromFragment(fragment)).toEqual({ settings: withoutSecrets(settings), text: "Hi" });
    expect(JSON.stringify(fromFragment(fragment))).not.toContain("secret");
    expect(mistakesIn(withoutSecrets(settings)).tools).toMatch(/secret/);
    expect(withoutSecrets({ ...USUAL, tools: [{ isOn: true, tool: { type: "mcp", headers: null } }] }).tools).toEqual([
      { isOn: true, tool: { type: "mcp", headers: null } },
    ]);
  });

  test.each([
    "",
    "#code=x",
    "#s=",
    "#s=%%%",
    "#s=e30",
    `#s=${btoa('{"settings":{"models":5,"tools":[null],"stream":"x","__proto__":{}}}').replace(/=+$/, "")}`,
  ])("a link of somebody else does no harm: %s", (fragment) => {
    const found = fromFragment(fragment);
    if (found) expect(bodyOf(found.settings, "m", "x", {})).toEqual({ model: "m", input: "x", stream: true });
  });
});

describe("the output of a stream", () => {
  test("grows by deltas, and is what the last event says", () => {
    const message = { type: "message", id: "m", role: "assistant", content: [] };
    const events: Json[] = [
      { type: "response.output_item.added", output_index: 0, item: message },
      {
        type: "response.content_part.added",
        output_index: 0,
        content_index: 0,
        part: { type: "output_text", text: "" },
      },
      { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Hel" },
      { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "lo" },
      { type: "response.unknown", output_index: 0, delta: "?" },
      { type: "response.output_text.delta", output_index: 7, content_index: 0, delta: "?" },
    ];
    const grown = events.reduce<readonly Item[]>(fold, []);
    expect(grown).toEqual([{ ...message, content: [{ type: "output_text", text: "Hello" }] }]);
    const end = { type: "response.completed", response: { output: [{ type: "message", id: "n" }] } };
    expect(fold(grown, end)).toEqual([{ type: "message", id: "n" }]);
  });

  test("waits for approvals and functions without an answer", () => {
    const output = [
      { type: "mcp_approval_request", id: "a" },
      { type: "function_call", id: "b", call_id: "c1" },
      { type: "mcp_call", id: "d" },
    ];
    expect(pendingCalls(output, []).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(pendingCalls(output, [{ approval_request_id: "a" }, { call_id: "c1" }])).toEqual([]);
  });
});

describe("the check of an output by its schema", () => {
  const schema = {
    type: "object",
    properties: { n: { type: "integer" }, s: { enum: ["a", "b"] }, l: { type: "array", items: { $ref: "#/$defs/x" } } },
    required: ["n"],
    additionalProperties: false,
    $defs: { x: { anyOf: [{ type: "null" }, { type: "string" }] } },
  };

  test.each([
    [{ n: 1 }, []],
    [{ n: 1, s: "a", l: [null, "x"] }, []],
    [{}, ["$.n is missing"]],
    [{ n: 1.5 }, ["$.n is number, not integer"]],
    [{ n: 1, s: "c" }, ['$.s is none of ["a","b"]']],
    [{ n: 1, l: [5] }, ["$.l[0] fits none of its 2 schemas"]],
    [{ n: 1, toString: 1 }, ["$.toString is not allowed"]],
  ])("%j", (value, expected) => {
    expect(misfits(value, schema)).toEqual(expected);
  });

  test("a text that is no JSON fits nothing, and a schema that contains itself ends", () => {
    expect(textMisfits("{", undefined)[0]).toMatch(/not JSON/);
    expect(misfits({}, { $ref: "#" })).toEqual([]);
  });
});
