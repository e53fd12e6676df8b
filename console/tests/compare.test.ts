import { expect, test } from "vitest";
import { align, newBudget } from "../src/pages/compare/align.ts";
import { DEEPEST, diffJson, MOST_CHANGES } from "../src/pages/compare/json_diff.ts";
import { differenceOf } from "../src/pages/compare/measures.tsx";
import { partsOf } from "../src/pages/compare/parts.ts";
import { diffTexts, type Piece } from "../src/pages/compare/text_diff.ts";
import { count } from "../src/parts/format.ts";

function changed(pieces: readonly Piece[] | undefined): string[] {
  return (pieces ?? []).filter(({ isChanged }) => isChanged).map(({ text }) => text);
}

test("the runs of two sequences cover both, and what is equal is equal", () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 300; round += 1) {
    const [a, b] = [0, 0].map(() => Array.from({ length: random(9) }, () => "abc".charAt(random(3))));
    if (!a || !b) throw new Error();
    const runs = align(a, b, newBudget());
    expect(runs.flatMap((run) => a.slice(...run.a))).toEqual(a);
    expect(runs.flatMap((run) => b.slice(...run.b))).toEqual(b);
    for (const run of runs.filter(({ isSame }) => isSame)) expect(a.slice(...run.a)).toEqual(b.slice(...run.b));
    for (const [at, run] of runs.entries()) expect(run.isSame && runs[at + 1]?.isSame).toBeFalsy();
  }
});

test("of a changed line the words that changed are marked", () => {
  const { rows } = diffTexts("You are a helper.\nBe brief.", "You are a careful helper.\nBe brief.");
  expect(rows).toHaveLength(2);
  expect(changed(rows[0]?.a).join("")).toBe("");
  expect(changed(rows[0]?.b).join("").trim()).toBe("careful");
  expect(rows[1]?.isSame).toBe(true);
});

test("long stretches of equal lines are counted, and those around a difference are shown", () => {
  const lines = Array.from({ length: 100 }, (_, at) => `line ${at}`);
  const { rows } = diffTexts(lines.join("\n"), lines.with(50, "another").join("\n"));
  expect(rows.map(({ skipped, isSame }) => skipped ?? isSame)).toEqual([48, true, true, false, true, true, 47]);
});

test("texts that share nothing and are very long are one difference, and it is said", () => {
  const text = (word: string) => Array.from({ length: 5_000 }, (_, at) => `${word} ${at}`).join("\n");
  const { rows, isCut } = diffTexts(text("left"), text("right"));
  expect(isCut).toBe(true);
  expect(rows).toHaveLength(5_000);
});

test("JSON differs where it differs, and an element that was added shifts nothing", () => {
  const a = {
    model: "m",
    input: [
      { role: "user", content: "a" },
      { role: "user", content: "c" },
    ],
    x: null,
  };
  const b = { model: "n", input: [{ role: "user", content: "a" }, { role: "tool" }, { role: "user", content: "c" }] };
  expect(diffJson(a, b).changes).toEqual([
    { path: "model", a: "m", b: "n" },
    { path: "input[1]", a: undefined, b: { role: "tool" } },
    { path: "x", a: null, b: undefined },
  ]);
  expect(diffJson(a, structuredClone(a))).toEqual({ changes: [], isCut: false });
});

test("names of prototypes are names like others", () => {
  const [a, b] = ['{"__proto__": 1, "constructor": 2}', '{"__proto__": 2}'].map((text) => JSON.parse(text));
  expect(diffJson(a, b).changes).toEqual([
    { path: "__proto__", a: 1, b: 2 },
    { path: "constructor", a: 2, b: undefined },
  ]);
});

test("many differences are cut, and it is said", () => {
  const diff = diffJson(Array(1_000).fill(1), Array(1_000).fill(2));
  expect([diff.changes.length, diff.isCut]).toEqual([MOST_CHANGES, true]);
});

test("values of 6 MB are compared as a whole, and it is said", () => {
  const [a, b] = ["a", "b"].map((letter) => ({ text: letter.repeat(3_000_000) }));
  expect(diffJson(a, b, "output")).toEqual({ changes: [{ path: "output", a, b }], isCut: true });
});

test("a text is a message of the user, and IDs are not compared", () => {
  const calls = (id: string) => ({
    data: [{ backend: "b", model: "m", path: "/x", request: { messages: [{ tool_call_id: id, content: "r" }] } }],
    is_rebuilt: true,
    has_more: false,
  });
  const message = { type: "message", id: "msg_1", role: "user", content: [{ type: "input_text", text: "Hi" }] };
  const parts = partsOf(
    { request: { model: "m", input: "Hi" }, output: [{ id: "msg_2", type: "message" }], calls: calls("call_1") },
    { request: { model: "m", input: [message] }, output: [{ id: "msg_3", type: "message" }], calls: calls("call_2") },
  );
  expect(parts.map(({ name, diff }) => [name, diff.changes])).toEqual(
    ["Instructions", "Input", "Tools", "Settings", "Requests to backends", "Output"].map((name) => [name, []]),
  );
});

test("what is nested deeper than values are compared is one difference", () => {
  const nested = (depth: number, inside: unknown): unknown => (depth === 0 ? inside : [nested(depth - 1, inside)]);
  const { changes } = diffJson(nested(500, "left"), nested(500, "right"), "x");
  expect(changes).toEqual([
    { path: `x${"[0]".repeat(DEEPEST)}`, a: nested(500 - DEEPEST, "left"), b: nested(500 - DEEPEST, "right") },
  ]);
  expect(diffJson(nested(500, "same"), nested(500, "same")).changes).toEqual([]);
});

test("an ID that a client's schema names is compared", () => {
  const tool = (type: string) => ({ type: "function", parameters: { properties: { id: { type } } } });
  const content = (type: string) => ({ request: { tools: [tool(type)] }, output: undefined, calls: undefined });
  const tools = partsOf(content("string"), content("integer")).find(({ name }) => name === "Tools");
  expect(tools?.diff.changes).toEqual([{ path: "tools[0].parameters.properties.id.type", a: "string", b: "integer" }]);
});

test("a difference says how much more or less, and in percent where that can be said", () => {
  expect(differenceOf(200, 300, count)).toBe("+100 (+50\u00a0%)");
  expect(differenceOf(200, 100, count)).toBe("−100 (−50\u00a0%)");
  expect(differenceOf(0, 100, count)).toBe("+100");
  expect(differenceOf(5, 5, count)).toBe("");
  expect(differenceOf(null, 5, count)).toBe("");
});
