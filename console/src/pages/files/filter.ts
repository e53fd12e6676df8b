/** One comparison of an attribute, as a filter of a search. */
import type { Json } from "../../api/types.ts";

/** The comparisons, with their signs. */
export const COMPARISONS = { eq: "=", ne: "≠", gt: ">", gte: "≥", lt: "<", lte: "≤" } as const;

/** A comparison as the reader typed it; an empty key filters nothing. */
export interface Comparison {
  key: string;
  type: keyof typeof COMPARISONS;
  value: string;
}

/** Return the filter, undefined without a key. `5` and `true` are a number and a boolean, `"5"` is a text. */
export function filterOf({ key, type, value }: Comparison): Json | undefined {
  return key.trim() ? { key: key.trim(), type, value: scalarOf(value.trim()) } : undefined;
}

function scalarOf(text: string): string | number | boolean {
  try {
    const value: unknown = JSON.parse(text);
    const isScalar = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    return isScalar ? value : text;
  } catch {
    return text;
  }
}
