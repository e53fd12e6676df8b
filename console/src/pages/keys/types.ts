/** API keys as `/admin/v1/keys` has them. */

/** What a key may do. */
export const ROLES = ["use", "read", "admin"] as const;

/** The limits that are counts. */
export const COUNTS = ["requests_per_minute", "tokens_per_minute", "tokens_per_day", "concurrency"] as const;

/** The limits that are amounts of money. */
export const BUDGETS = ["budget_per_day", "budget_per_month"] as const;

type Counts = Record<(typeof COUNTS)[number], number | null>;
type Budgets = Record<(typeof BUDGETS)[number], string | null>;

/** A key without its secret; a new one has it once, as `key`. Times are seconds since the epoch. */
export interface ApiKey extends Counts, Budgets {
  id: string;
  name: string;
  tenant: string;
  role: (typeof ROLES)[number];
  status: "active" | "expired" | "revoked";
  shown: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  old_key_until: number | null;
  models: string[];
  cache: boolean;
  key?: string;
}

/** Return the limits of a key in words. */
export function limitsOf(key: ApiKey, currency: string | null): string {
  const parts = [
    key.requests_per_minute && `${key.requests_per_minute.toLocaleString()} requests/min`,
    key.tokens_per_minute && `${key.tokens_per_minute.toLocaleString()} tokens/min`,
    key.tokens_per_day && `${key.tokens_per_day.toLocaleString()} tokens/day`,
    key.concurrency && `${key.concurrency} at once`,
    key.budget_per_day && `${key.budget_per_day} ${currency ?? ""}/day`,
    key.budget_per_month && `${key.budget_per_month} ${currency ?? ""}/month`,
    key.models.length > 0 && key.models.join(", "),
  ];
  return parts.filter(Boolean).join(", ") || "none";
}
