import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { extended, keyOf, linesOf, revealed, toggled, unfolded } from "../src/parts/json/lines.ts";
import { JsonPane } from "../src/parts/json/pane.tsx";
import { MOST_FOUND, search } from "../src/parts/json/search.ts";

const MANY = { model: "m", input: Array.from({ length: 501 }, (_, at) => ({ type: "message", text: `word ${at}` })) };

function rendered(value: unknown): HTMLElement {
  const root = document.createElement("div");
  act(() => render(<JsonPane title="Request" value={value} />, root));
  return root;
}

function press(root: HTMLElement, label: string): void {
  const found = [...root.querySelectorAll("button")].find(
    (each) => each.getAttribute("aria-label") === label || each.textContent?.trim() === label,
  );
  act(() => found?.click());
}

test("a small value is unfolded whole, and copies as JSON that is equal to it", () => {
  const value = JSON.parse('{"__proto__": {"a": 1}, "constructor": [true, null, -1.5e3, "x\\"y"], "empty": {}}');
  expect(JSON.parse(rendered(value).querySelector(".json-lines")?.textContent ?? "")).toEqual(value);
});

test("of 501 items 50 become lines, until the reader wants more", () => {
  const root = rendered(MANY);
  expect(root.querySelectorAll("*").length).toBeLessThan(1_500);
  expect(root.textContent).toContain("Show more (451)");
  press(root, "Show more (451)");
  expect(root.textContent).toContain("Show more (401)");
});

test("everything folds to one level, and unfolds to a bound", () => {
  const root = rendered(MANY);
  press(root, "Fold Request");
  expect(root.querySelectorAll(".json-line").length).toBe(4);
  press(root, "Unfold Request");
  expect(root.querySelectorAll(".json-line").length).toBeLessThan(2_100);
});

test("a search finds names and values, and unfolds what leads to them", () => {
  const root = rendered(MANY);
  press(root, "Search Request");
  const field = root.querySelector("input");
  act(() => {
    if (field) field.value = "WORD 499";
    field?.dispatchEvent(new InputEvent("input", { bubbles: true }));
  });
  expect(root.querySelector('[role="status"]')?.textContent).toBe("1 of 1");
  expect(root.querySelector(".json-here mark")?.textContent).toBe("word 499");
  expect(root.textContent).toContain("Show earlier (494)");
});

test.each([
  ["a long text", "word ".repeat(400_000), /Show 2,000,000 characters/],
  ["base64", "A".repeat(2_000_000), /Show base64, 1\.5 MB/],
  ["an image", `data:image/png;base64,${"A".repeat(1_000)}`, /Show base64/],
])("%s is folded", (_, text, button) => {
  const root = rendered({ text });
  expect(root.textContent?.length).toBeLessThan(600);
  expect(root.textContent).toMatch(button);
  const name = [...root.querySelectorAll("button")].find((each) => button.test(each.textContent ?? ""));
  act(() => name?.click());
  expect(root.querySelector(".json-text pre")?.textContent).toBe(text.slice(0, 20_000));
});

test("what a search finds inside a long text is shown with what is around it", () => {
  const text = `${"a".repeat(5_000)}needle${"b".repeat(5_000)}`;
  const root = rendered({ text });
  press(root, "Search Request");
  const field = root.querySelector("input");
  act(() => {
    if (field) field.value = "needle";
    field?.dispatchEvent(new InputEvent("input", { bubbles: true }));
  });
  expect(root.querySelector(".json-here")?.textContent).toMatch(/…a{120}needleb{120}…/);
});

test("a path is a JSON pointer, also with slashes and tildes in its names", () => {
  expect(keyOf(["a/b", "~", "0"])).toBe("/a~1b/~0/0");
});

test("a search is bounded, and reports no place twice", () => {
  expect(search(Array(5_000).fill("x"), "x")).toHaveLength(MOST_FOUND);
  expect(search({ ab: "ab" }, "AB")).toEqual([{ path: ["ab"], at: 0 }]);
  expect(search({ ab: 1 }, "b")).toEqual([{ path: ["ab"], at: -1 }]);
  expect(search(["a"], "0")).toEqual([]);
});

test("folding and unfolding again leaves the lines as they were", () => {
  const views = unfolded(MANY);
  const folded = toggled(views, "/input", MANY.input);
  expect(linesOf(MANY, folded).map(({ is }) => is)).toEqual(["open", "value", "folded", "close"]);
  expect(linesOf(MANY, toggled(folded, "/input", MANY.input))[2]?.is).toBe("open");
});

test("an item that is revealed is a line, and those before it follow on demand", () => {
  const views = revealed(new Map(), MANY, ["input", "300", "text"]);
  const lines = linesOf(MANY, views);
  expect(lines.some(({ value }) => value === "word 300")).toBe(true);
  const earlier = lines.find(({ is }) => is === "earlier");
  expect(linesOf(MANY, earlier ? extended(views, earlier) : views).length).toBe(lines.length + 50);
});
