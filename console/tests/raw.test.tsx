import { render } from "preact";
import { expect, test } from "vitest";
import { toCsv } from "../src/parts/copy.ts";
import { RawJson } from "../src/parts/raw.tsx";

function rendered(value: unknown): string {
  const root = document.createElement("div");
  render(<RawJson value={value} />, root);
  return root.textContent ?? "";
}

test("characters that hide or reorder others are visible", () => {
  expect(rendered("a\u202eb\u200bc\ufeffd\u0000e\ud800f\u{e0041}g")).toBe(
    "aU+202EbU+200BcU+FEFFdU+0000eU+D800fU+E0041g",
  );
});

test("JSON is shown as it is, also with names of prototypes", () => {
  const value = JSON.parse('{"__proto__": {"a": 1}, "constructor": [true, null, -1.5e3, "x\\"y"]}');
  expect(JSON.parse(rendered(value))).toEqual(value);
});

test("of a very long line the beginning is shown, and a button says how much is left", () => {
  const text = rendered("x".repeat(10_000_000));
  expect(text.length).toBeLessThan(21_000);
  expect(text).toMatch(/Show 100,000 of 9,980,000 more characters/);
});

test("a cell of CSV is never a formula", () => {
  expect(toCsv([["=1+1", "+1", "-x", "@a", -5, 'say "hi"', "a,b", "plain"]])).toBe(
    `'=1+1,'+1,'-x,'@a,-5,"say ""hi""","a,b",plain`,
  );
});
