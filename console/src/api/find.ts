/** What an ID leads to. */
import { request } from "./client.ts";
import { isOwn } from "./files.ts";

/** An object with the ID that was looked for, or that contains it. */
export interface Found {
  kind: "response" | "conversation" | "file" | "vector_store" | "container";
  id: string;
  tenant: string;
  /** The item that was looked for, where the ID is that of an item or call. */
  part: string | null;
}

/** What the server knows of an ID. */
export interface Findings {
  data: Found[];
  /** When the ID was made, in milliseconds, if it says so. */
  created_ms: number | null;
  /** Since when calls were searched, in milliseconds; null for all times. */
  searched_since_ms: number | null;
}

/** Return what an ID leads to. */
export function find(id: string, signal: AbortSignal): Promise<Findings> {
  return request("/admin/v1/find", { query: { id }, signal });
}

const PATHS: Record<Found["kind"], (id: string) => string> = {
  response: (id) => `r/${id}`,
  conversation: (id) => `conversations/${id}`,
  file: (id) => `files?id=${id}`,
  vector_store: (id) => `files/${id}`,
  container: (id) => `containers/${id}`,
};
const OF_ANY_TENANT = new Set<Found["kind"]>(["response", "conversation"]);

/** Return the path of the page of what was found; it names the tenant where the page has to know it. */
export function pathOf({ kind, id, tenant }: Found): string {
  const path = PATHS[kind](encodeURIComponent(id));
  if (OF_ANY_TENANT.has(kind) || isOwn({ tenant })) return path;
  return `${path}${path.includes("?") ? "&" : "?"}tenant=${encodeURIComponent(tenant)}`;
}
