/** The tenant of what a list shows: administrators see that of each object, other readers see only their own. */
import { session } from "../api/session.ts";
import type { Session } from "../api/types.ts";
import { visible } from "./raw.tsx";

const COLUMN = "Tenant";

/** Return the columns of a list, with that of tenants if the reader sees several. */
export function withTenant(columns: readonly string[]): readonly string[] {
  return seesTenants() ? [...columns, COLUMN] : columns;
}

/** The cell of that column. */
export function TenantCell({ tenant, class: kind }: { tenant: string | null; class?: string }) {
  if (!seesTenants()) return null;
  return (
    <td class={kind} data-label={COLUMN}>
      {tenant ? visible(tenant) : "—"}
    </td>
  );
}

/** Whether a reader, usually the one of this page, sees objects of several tenants. */
export function seesTenants({ role }: Pick<Session, "role"> = session()): boolean {
  return role === "admin";
}
