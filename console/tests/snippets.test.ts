import { describe, expect, test } from "vitest";
import type { Json } from "../src/api/types.ts";
import { snippet } from "../src/parts/snippets.ts";

const BASE = "http://127.0.0.1:8321/v1";
const BODIES: Record<string, Json> = {
  plain: { model: "fast", input: "Hello" },
  quotes: { model: "fast", input: `It's "quoted" \\ and\nnew \u2028 lines, 🎉, \${x} and $(y) \`z\`` },
  everything: {
    model: "fast",
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "a" }] }],
    tools: [{ type: "mcp", server_label: "t", headers: { "x-key": "1" } }],
    text: { format: { type: "json_schema", name: "a", schema: { type: "object", properties: {}, required: [] } } },
    temperature: 0.7,
    store: false,
    stream: true,
    metadata: { "a-b": "c", class: "d" },
    antiphon: { cache: true },
  },
};

/** Run the TypeScript with a client that returns what it receives. */
function runTypeScript(code: string): Promise<Json> {
  const lines = code.replace(/^import .*$/m, "").replace(/for await[\s\S]*$|console\.log\(response[\s\S]*$/, "");
  const name = /const (stream|response) = await/.exec(code)?.[1];
  const run = new Function("OpenAI", `return (async () => {${lines}; return ${name}; })()`);
  return run(
    class {
      responses = { create: async (body: Json) => body };
    },
  );
}

describe("the code of a request", () => {
  test.each(Object.entries(BODIES))("TypeScript sends exactly the request: %s", async (_, body) => {
    expect(await runTypeScript(snippet("TypeScript", body, BASE))).toEqual(body);
  });

  test.each(Object.entries(BODIES))("curl sends exactly the request: %s", (_, body) => {
    const code = snippet("curl", body, BASE);
    const data = /-d '([\s\S]*)'$/.exec(code)?.[1]?.replaceAll("'\\''", "'") ?? "";
    expect(JSON.parse(data)).toEqual(body);
    expect(data.replaceAll("'", "")).not.toMatch(/'/);
  });

  test("Python has its own words, and what the SDK does not know is in extra_body", () => {
    expect(snippet("Python", { model: "fast", input: "Hi", store: false, antiphon: { cache: true } }, BASE)).toBe(
      [
        "from openai import OpenAI",
        "",
        `client = OpenAI(base_url="${BASE}")`,
        "response = client.responses.create(",
        '    model="fast",',
        '    input="Hi",',
        "    store=False,",
        '    extra_body={"antiphon": {"cache": True}},',
        ")",
        "print(response.output_text)",
      ].join("\n"),
    );
  });

  test("no code has a key", () => {
    expect(snippet("curl", BODIES.plain ?? {}, BASE)).toContain("$OPENAI_API_KEY");
  });
});
