/** API keys, as far as other pages need them. */
import { request } from "./client.ts";
import type { List } from "./types.ts";

/** A key with its budgets, which are exact amounts as text. */
export interface BudgetedKey {
  id: string;
  name: string;
  budget_per_day: string | null;
  budget_per_month: string | null;
}

/** Load the keys that the reader sees. */
export async function loadKeys(signal: AbortSignal): Promise<BudgetedKey[]> {
  return (await request<List<BudgetedKey>>("/admin/v1/keys", { signal })).data;
}
