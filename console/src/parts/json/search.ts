/** Searching a JSON value: its names and its values. */
import { type Path, sizeOf } from "./lines.ts";

/** Where a text was found, and at which character of a value; -1 is in the name. */
export interface Found {
  path: Path;
  at: number;
}

/** More places are not looked for. */
export const MOST_FOUND = 1_000;

/** Return the places, in order, with a text in their name or value; capital letters do not matter. */
export function search(root: unknown, text: string): Found[] {
  const wanted = text.toLowerCase();
  const found: Found[] = [];
  const waiting: { path: Path; name: string; value: unknown }[] = [{ path: [], name: "", value: root }];
  for (let next = waiting.pop(); wanted && next && found.length < MOST_FOUND; next = waiting.pop()) {
    const { path, name, value } = next;
    const at = placeIn(value, wanted);
    if (at >= 0 || name.toLowerCase().includes(wanted)) found.push({ path, at });
    if (sizeOf(value) === 0) continue;
    const isArray = Array.isArray(value);
    for (const [key, child] of Object.entries(value as object).reverse()) {
      waiting.push({ path: [...path, key], name: isArray ? "" : key, value: child });
    }
  }
  return found;
}

function placeIn(value: unknown, wanted: string): number {
  if (typeof value === "string") return value.toLowerCase().indexOf(wanted);
  return typeof value === "object" && value !== null ? -1 : String(value).indexOf(wanted);
}
