/** What `/admin/v1/backends` returns. Readers see a part of it. */
import { request } from "../../api/client.ts";
import type { Json } from "../../api/types.ts";

/** One backend. Times are seconds. */
export interface Backend {
  name: string;
  dialect: string;
  health: "up" | "out" | "resting" | "mixed";
  rests_for: number;
  in_flight: number;
  concurrency: number;
  waiting: number;
  queue: number;
  models: string[];
  loaded: string[] | null;
  checked_ago: number | null;
  next_check: number | null;
  /** Calls since the server started, also those that another backend then answered. */
  asked?: number;
  failed?: number;
  oldest_wait?: number;
  ejections?: number;
  prompt_bytes?: number;
  prompt_reused_bytes?: number;
  error?: string;
  last_error?: string;
  last_error_ago?: number | null;
}

/** What is known of a model at a backend. */
export interface Profile {
  backend: string;
  model: string;
  facts: Json;
}

/** The state of all backends. */
export interface Backends {
  workers: number;
  backends: Backend[];
  profiles: Profile[];
}

/** Load the state of all backends. */
export function loadBackends(signal: AbortSignal): Promise<Backends> {
  return request("/admin/v1/backends", { signal });
}

/** Check a backend now; return its state. */
export function checkBackend(name: string): Promise<Backend> {
  return request(`/admin/v1/backends/${encodeURIComponent(name)}/check`, { method: "POST" });
}
