/** Rules and the classes of the components fit together: no rule without a user, no class without a rule. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const SOURCES = join(import.meta.dirname, "../src");
const CLASS_ATTRIBUTE = /\bclass=(?:"([^"]*)"|\{((?:[^{}]|\{[^{}]*\})*)\})/g;
const STRING = /"([^"\n]*)"|`([^`]*)`/g;
const INSERTED = /\$\{([^}]*)\}/g;

function read(ending: RegExp): Map<string, string> {
  const paths = readdirSync(SOURCES, { recursive: true, encoding: "utf-8" }).filter((path) => ending.test(path));
  return new Map(paths.map((path) => [path, readFileSync(join(SOURCES, path), "utf-8")]));
}

/** Return the classes that the selectors of a style sheet name. */
function ruledBy(sheet: string): string[] {
  const selectors = sheet.replaceAll(/\/\*[\s\S]*?\*\//g, "").matchAll(/([^{};]+)\{/g);
  return [...selectors].flatMap(([, selector = ""]) =>
    [...selector.matchAll(/\.([A-Za-z][\w-]*)/g)].map(([, name = ""]) => name),
  );
}

/** Return the words of the strings in a piece of a source, also inside templates; `part-${…}` gives `part-`. */
function words(source: string): string[] {
  return [...source.matchAll(STRING)].flatMap(([, plain, template]) => [
    ...(plain ?? template ?? "").replaceAll(INSERTED, "\0").split(/[\s\0]+/),
    ...[...(template ?? "").matchAll(INSERTED)].flatMap(([, code = ""]) => words(code)),
  ]);
}

const components = read(/\.tsx?$/);
const sheets = read(/\.css$/);
const attributes = [...components.values()].flatMap((source) =>
  [...source.matchAll(CLASS_ATTRIBUTE)].flatMap(([, plain, code = ""]) => plain?.split(" ") ?? words(code)),
);

/** Return the strings of the components that import a style sheet, and of their folder. */
function wordsNear(sheet: string): string[] {
  return [...components].filter(([path]) => dirname(path) === dirname(sheet)).flatMap(([, source]) => words(source));
}

test("every class that a rule names is used by a component", () => {
  const used = new Set(attributes);
  const unused = [...sheets].flatMap(([path, sheet]) => {
    const near = new Set(wordsNear(path));
    const isUsed = (name: string) =>
      used.has(name) || near.has(name) || [...used].some((each) => each.endsWith("-") && name.startsWith(each));
    return ruledBy(sheet)
      .filter((name) => !isUsed(name))
      .map((name) => `${path}: .${name}`);
  });
  expect([...new Set(unused)].join("\n")).toBe("");
});

test("every class that a component names plainly has a rule", () => {
  const plainly = [...components.values()].flatMap((source) =>
    [...source.matchAll(/\bclass="([^"]+)"/g)].flatMap(([, names = ""]) => names.split(" ")),
  );
  const ruled = new Set([...sheets.values()].flatMap(ruledBy));
  const missing = plainly.filter((name) => !ruled.has(name));
  expect([...new Set(missing)].join("\n")).toBe("");
});

test("every style sheet is imported", () => {
  const imported = new Set(
    [...components].flatMap(([path, source]) =>
      [...source.matchAll(/^import "(.+\.css)";$/gm)].map(([, sheet = ""]) => join(dirname(path), sheet)),
    ),
  );
  expect([...sheets.keys()].filter((path) => !imported.has(path))).toEqual([]);
});
