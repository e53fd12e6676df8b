import { describe, expect, test } from "vitest";
import { filterValue, format, parse, withFilter, withoutPart } from "../src/parts/filter_line.ts";
import { quoted } from "../src/parts/filter_value.ts";

function pairs(line: string) {
  return parse(line).map(({ kind, name, value }) => [kind, name, value]);
}

describe("the filter line", () => {
  test("splits filters and words", () => {
    expect(pairs('status:failed model:qwen3* "light house" tls')).toEqual([
      ["filter", "status", "failed"],
      ["filter", "model", "qwen3*"],
      ["word", "", "light house"],
      ["word", "", "tls"],
    ]);
  });

  test("keeps comparisons, metadata and quoted values whole", () => {
    expect(pairs('took:>10s metadata.team:"a b" key:"C:\\" tls')).toEqual([
      ["filter", "took", ">10s"],
      ["filter", "metadata.team", "a b"],
      ["filter", "key", "C:\\"], // a backslash is a character as any other, as for the server
      ["word", "", "tls"],
    ]);
  });

  test("knows negated filters, and alternatives as one part", () => {
    const line = "-status:failed model:a OR model:b OR tls -word";
    expect(parse(line).map(({ kind, text }) => [kind, text])).toEqual([
      ["filter", "-status:failed"],
      ["alternatives", "model:a OR model:b OR tls"],
      ["word", "-word"],
    ]);
    expect(withFilter(line, "status", "completed")).toBe(`${line} status:completed`);
    expect(withFilter(line, "model", "")).toBe(line);
    expect(withoutPart(line, 1)).toBe("-status:failed -word");
  });

  test.each([
    "",
    "  ",
    'model:"open',
    '"',
    ":",
    "a:",
    "::",
    "-",
    "-a:",
    "OR",
    "a OR",
    "OR b",
    "a OR OR b",
    'x"y"z',
    "since:2026-11-22T12:00:00Z",
    "ключ:да",
  ])("never fails, and a line that it wrote reads the same again: %s", (line) => {
    const parts = parse(line);
    expect(parse(format(parts))).toEqual(parts);
  });

  test("a filter is replaced in its place, and removed by an empty value", () => {
    expect(withFilter("a status:failed b", "status", "completed")).toBe("a status:completed b");
    expect(withFilter("a status:failed b", "status", "")).toBe("a b");
    expect(withFilter("a", "key", quoted("team key"))).toBe('a key:"team key"');
  });

  test("a value is found by its name", () => {
    expect(filterValue('status:failed model:"a b"', "model")).toBe("a b");
    expect(filterValue("status:failed", "model")).toBe("");
  });
});

describe("a value", () => {
  test.each([
    ["qwen3:8b", "qwen3:8b"],
    ["team key", '"team key"'],
    ["", '""'],
    ["C:\\", "C:\\"],
    ['a" status:failed', '"a*"'],
    ["a,b", '"a*"'],
    ["a*b", '"a*"'],
  ])("%j is written as the server reads it", (value, written) => {
    expect(quoted(value)).toBe(written);
    const [part, ...others] = parse(`model:${written}`);
    expect([part?.name, others]).toEqual(["model", []]);
  });

  test("of one filter may be several, which stay as they are", () => {
    expect(withFilter("a", "status", "queued,in_progress")).toBe("a status:queued,in_progress");
  });
});
