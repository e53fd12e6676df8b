/** The differences of two JSON values, by their structure: what was added, removed or changed, and where. */
import { align, type Budget, newBudget } from "./align.ts";

/** One difference. A side without the value is undefined. */
export interface Change {
  path: string;
  a: unknown;
  b: unknown;
}

/** The differences, and whether there are more than are listed, or some were not looked for one by one. */
export interface JsonDiff {
  changes: Change[];
  isCut: boolean;
}

/** Differences that are listed at most. */
export const MOST_CHANGES = 200;
/** Characters of JSON that are compared at most. */
export const MOST_COMPARED = 5_000_000;
/** Levels of values inside others that are compared one by one: each level of arrays reads all that is inside it. */
export const DEEPEST = 24;

interface Walk {
  changes: Change[];
  budget: Budget;
}

/** Compare two values; `path` names them. */
export function diffJson(a: unknown, b: unknown, path = ""): JsonDiff {
  if (lengthOf(a) + lengthOf(b) > MOST_COMPARED) {
    return { changes: isEqual(a, b) ? [] : [{ path, a, b }], isCut: true };
  }
  const walk: Walk = { changes: [], budget: newBudget() };
  compare(a, b, path, walk, 0);
  const isCut = walk.changes.length > MOST_CHANGES || walk.budget.isSpent;
  return { changes: walk.changes.slice(0, MOST_CHANGES), isCut };
}

function compare(a: unknown, b: unknown, path: string, walk: Walk, depth: number): void {
  if (walk.changes.length > MOST_CHANGES) return;
  const isDeep = depth >= DEEPEST;
  if (!isDeep && Array.isArray(a) && Array.isArray(b)) compareArrays(a, b, path, walk, depth + 1);
  else if (!isDeep && isObject(a) && isObject(b)) compareObjects(a, b, path, walk, depth + 1);
  else if (isDeep ? !isEqual(a, b) : a !== b) walk.changes.push({ path, a, b });
}

function compareObjects(
  a: Record<string, unknown>,
  b: Record<string, unknown>,
  path: string,
  walk: Walk,
  depth: number,
): void {
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    compare(own(a, name), own(b, name), path ? `${path}.${name}` : name, walk, depth);
  }
}

/** Elements that are equal belong together; between them, those at the same place are compared. */
function compareArrays(a: readonly unknown[], b: readonly unknown[], path: string, walk: Walk, depth: number): void {
  const texts = (all: readonly unknown[]) => all.map((each) => JSON.stringify(each) ?? "");
  for (const run of align(texts(a), texts(b), walk.budget)) {
    if (run.isSame) continue;
    const [fromA, fromB] = [run.a[0], run.b[0]];
    for (let at = 0; at < Math.max(run.a[1] - fromA, run.b[1] - fromB); at += 1) {
      const [placeA, placeB] = [fromA + at, fromB + at];
      const place = placeA < run.a[1] ? placeA : placeB;
      compare(
        placeA < run.a[1] ? a[placeA] : undefined,
        placeB < run.b[1] ? b[placeB] : undefined,
        `${path}[${place}]`,
        walk,
        depth,
      );
    }
  }
}

function own(value: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function lengthOf(value: unknown): number {
  return (JSON.stringify(value) ?? "").length;
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
