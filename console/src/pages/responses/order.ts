/** The orders of the list, which `sort:` names in the filter line. */
import { filterValue } from "../../parts/filter_line.ts";

/** The orders, with their words. */
export const ORDERS = {
  newest: "Newest first",
  slowest: "Slowest first",
  dearest: "Highest cost first",
  tokens: "Most tokens first",
} as const;

/** The value of `sort:`. */
export type OrderName = keyof typeof ORDERS;

/** Return the order of a filter line; an unknown one is left to the server to reject. */
export function orderOf(line: string): OrderName {
  const named = filterValue(line, "sort");
  return Object.hasOwn(ORDERS, named) ? (named as OrderName) : "newest";
}

/** Whether the newest rows come first, so that live rows have a place in the list. */
export function isByTime(line: string): boolean {
  return orderOf(line) === "newest";
}
