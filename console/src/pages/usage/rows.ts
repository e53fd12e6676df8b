/** Rows of `/v1/usage` and what the page makes of them. */
import { request } from "../../api/client.ts";
import { session } from "../../api/session.ts";
import type { List, Session } from "../../api/types.ts";
import { money } from "../../parts/format.ts";

/** What rows may be summed by. */
export type GroupBy = "day" | "model" | "key" | "tenant";

/** One row: sums over a day or a group. */
export interface UsageRow {
  date?: string;
  tenant?: string;
  model?: string;
  api_key_id?: string;
  api_key_name?: string;
  api_key?: string;
  requests: number;
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  cost: { value: string; currency: string };
}

const DAY = 86_400;

/** Load the rows of the last days, summed by a group. Administrators with a key see all tenants. */
export async function loadUsage(days: number, by: GroupBy, signal: AbortSignal): Promise<UsageRow[]> {
  const { role, key_id } = session();
  const today = Math.floor(Date.now() / 1000 / DAY) * DAY;
  const query = {
    start_time: today - (days - 1) * DAY,
    end_time: today + DAY,
    group_by: by,
    tenant: role === "admin" && key_id !== null ? "*" : undefined,
  };
  return (await request<List<UsageRow>>("/v1/usage", { query, signal })).data;
}

/** Return the name of a row within its group. */
export function nameOf(row: UsageRow): string {
  if (row.model === "") return "no model";
  return row.date ?? row.model ?? row.tenant ?? row.api_key_name ?? row.api_key ?? row.api_key_id ?? "no key";
}

/** Return the sums of rows; costs are added as the exact numbers that they are, in millionths. */
export function totalOf(rows: readonly UsageRow[]): Omit<UsageRow, "cost"> & { cost: number } {
  const sum = (value: (row: UsageRow) => number) => rows.reduce((all, row) => all + value(row), 0);
  return {
    requests: sum(({ requests }) => requests),
    input_tokens: sum(({ input_tokens }) => input_tokens),
    cached_input_tokens: sum(({ cached_input_tokens }) => cached_input_tokens),
    output_tokens: sum(({ output_tokens }) => output_tokens),
    total_tokens: sum(({ total_tokens }) => total_tokens),
    cost: sum(({ cost }) => Math.round(Number(cost.value) * 1e6)) / 1e6,
  };
}

/** Return a row for each of the last days, oldest first; days without requests have zeros. */
export function everyDay(rows: readonly UsageRow[], days: number, now: number): { date: string; tokens: number }[] {
  const known = new Map(rows.map((row) => [row.date, row.total_tokens]));
  return Array.from({ length: days }, (_, at) => {
    const date = new Date(now - (days - 1 - at) * DAY * 1000).toISOString().slice(0, 10);
    return { date, tokens: known.get(date) ?? 0 };
  });
}

/** Return what an amount is shown as: without prices, nothing was counted, and a zero would say that it was free. */
export function costOf(amount: number, { currency, has_prices }: Pick<Session, "currency" | "has_prices">): string {
  return has_prices || amount > 0 ? money(amount, currency) : "—";
}

/** Return rows as the cells of a CSV file, with a head. */
export function cellsOf(by: GroupBy, rows: readonly UsageRow[]): unknown[][] {
  const head = [
    by,
    "requests",
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "total_tokens",
    "cost",
    "currency",
  ];
  const cells = rows.map((row) => [
    nameOf(row),
    row.requests,
    row.input_tokens,
    row.cached_input_tokens,
    row.output_tokens,
    row.total_tokens,
    Number(row.cost.value),
    row.cost.currency,
  ]);
  return [head, ...cells];
}
