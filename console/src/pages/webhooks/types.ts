/** Webhooks as the API has them. Times are seconds since the epoch. */

/** The types of events that endpoints may receive. */
export const EVENT_TYPES = [
  "response.completed",
  "response.incomplete",
  "response.failed",
  "response.cancelled",
] as const;

/** Where events are delivered. A new or rotated one has its secret once. */
export interface Endpoint {
  id: string;
  name: string;
  url: string;
  event_types: string[];
  created_at: number;
  signing_secret_hint: string;
  signing_secret?: string;
}

/** A delivery that waits, or that has failed. */
export interface Delivery {
  id: string;
  tenant: string | null;
  endpoint_id: string;
  endpoint_name: string;
  url: string;
  event_type: string;
  status: "pending" | "failed";
  created_at: number;
  attempts: number;
  next_attempt_at: number | null;
  failed_at: number | null;
  last_error: string | null;
}
