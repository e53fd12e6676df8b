/** A request with its long texts shortened, for display: a file in base64 would bury the rest of the code. */
import type { Json } from "../../api/types.ts";
import { count } from "../../parts/format.ts";
import { beginningOf } from "../../parts/raw.tsx";

const LONGEST = 2_000; // characters of a text that is displayed whole
const FIRST = 200; // characters that are displayed of a longer one

/** Return a body with at most the beginning of each text, and how many texts are shortened. */
export function shortened(body: Json): { body: Json; shortenedTexts: number } {
  let shortenedTexts = 0;
  const walk = (value: unknown): unknown => {
    if (typeof value === "string" && value.length > LONGEST) {
      shortenedTexts++;
      return `${beginningOf(value, FIRST)}… (${count(value.length)} characters)`;
    }
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, walk(each)]));
  };
  const found = walk(body) as Json;
  return { body: shortenedTexts === 0 ? body : found, shortenedTexts };
}
