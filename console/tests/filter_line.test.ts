import { describe, expect, test } from "vitest";
import { filterValue, format, parse, withFilter } from "../src/pages/responses/filter_line.ts";

describe("the filter line", () => {
  test("splits filters and words", () => {
    expect(parse('status:failed model:qwen3* "light house" tls')).toEqual([
      { name: "status", value: "failed" },
      { name: "model", value: "qwen3*" },
      { name: "", value: "light house" },
      { name: "", value: "tls" },
    ]);
  });

  test("keeps comparisons, metadata and quoted values whole", () => {
    expect(parse('took:>10s metadata.team:"a b" key:"say \\"hi\\""')).toEqual([
      { name: "took", value: ">10s" },
      { name: "metadata.team", value: "a b" },
      { name: "key", value: 'say "hi"' },
    ]);
  });

  test.each(["", "  ", 'model:"open', '"', ":", "a:", "::", 'x"y"z', "since:2026-11-22T12:00:00Z", "ключ:да"])(
    "never fails, and a line that it wrote reads the same again: %s",
    (line) => {
      const parts = parse(line);
      expect(parse(format(parts))).toEqual(parts);
    },
  );

  test("a filter is replaced in its place, and removed by an empty value", () => {
    expect(withFilter("a status:failed b", "status", "completed")).toBe("a status:completed b");
    expect(withFilter("a status:failed b", "status", "")).toBe("a b");
    expect(withFilter("a", "key", "team key")).toBe('a key:"team key"');
  });

  test("a word that looks like a filter is quoted", () => {
    expect(format([{ name: "", value: "http://x" }])).toBe('"http://x"');
  });

  test("a value is found by its name", () => {
    expect(filterValue('status:failed model:"a b"', "model")).toBe("a b");
    expect(filterValue("status:failed", "model")).toBe("");
  });
});
