/** What `/admin/v1` returns, as far as the console reads it. */

/** A JSON object of unknown content. */
export type Json = Record<string, unknown>;

/** A page of a list. */
export interface List<T> {
  data: T[];
  has_more: boolean;
  first_id?: string | null;
  last_id?: string | null;
  partial?: boolean;
  after?: string;
  /** What has not ended and is no part of any page. */
  running?: T[];
}

/** The session of the reader. */
export interface Session {
  role: "read" | "admin";
  tenant: string | null;
  key_id: string | null;
  key_name: string | null;
  key_shown: string | null;
  needs_key: boolean;
  expires_at: number | null;
  version: string;
  currency: string | null;
  has_prices: boolean;
  retention_days: number | null;
}

/** The status of a response, in the words of the API. */
export type Status = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

/** The token counts of a response. */
export interface Usage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

/** One response of a list: what is kept of it besides its bodies. */
export interface Summary {
  id: string;
  created_at: number;
  completed_at: number | null;
  started_ms: number;
  status: Status;
  error_code: string | null;
  error_message: string | null;
  model: string;
  served_model: string | null;
  backend: string | null;
  api_key_id: string | null;
  api_key_name: string | null;
  tenant: string;
  previous_response_id: string | null;
  conversation_id: string | null;
  store: boolean;
  stream: boolean;
  background: boolean;
  /** Of a background response that can wait for idle slots. */
  completion_window: "2h" | "8h" | null;
  websocket: boolean;
  cached: boolean;
  tools: string[];
  calls: number;
  attempts: number;
  duration_ms: number | null;
  queue_ms: number | null;
  first_token_ms: number | null;
  usage: Usage;
  /** Whether Antiphon counted tokens that the backend did not report. */
  usage_is_estimated: boolean;
  request_bytes: number;
  input: string | null;
  output: string | null;
  cost: number | null;
}

/** One call of a model or a tool. Times are microseconds from the start of the timeline. */
export interface Span {
  kind: "call" | "tool";
  name: string;
  start_us: number;
  first_us: number | null;
  end_us: number | null;
  error: string | null;
}

/** An item of the output while it was written. Times are microseconds from the start of the timeline. */
export interface TimelineItem {
  type: string;
  start_us: number;
  end_us: number | null;
}

/** One response with its timeline, notes and chain. */
export interface Details {
  summary: Summary;
  /** The ID of the request that created it, as in `x-request-id`; null if that has other digits. */
  request_id: string | null;
  timeline: { started_ms: number; spans: Span[]; items: TimelineItem[] };
  notes: { code: string; text: string }[];
  parents: Summary[];
  children: Summary[];
  /** The other responses that continue its parent. */
  siblings: Summary[];
  kept_until: number | null;
  /** Whether its input and output are stored, or why not. */
  body: "stored" | "not_stored" | "pending" | "failed_before" | "expired";
  has_events: boolean;
  /** Whether an agent computed it: its steps are stored. */
  has_steps: boolean;
}

/** Sums over the responses of a time, or of a group. */
export interface Sums {
  responses: number;
  by_status: Partial<Record<Status, number>>;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  cost: number | null;
  /** The output tokens of streamed responses, and their milliseconds from the first token to the end. */
  streamed_tokens: number;
  streamed_ms: number;
  first_token_ms: { p50: number; p95: number } | null;
  duration_ms: { p50: number; p95: number } | null;
}

/** What names a group. Groups of API keys have IDs as values, and a name where the key still exists. */
export interface Group {
  by: string;
  value: string;
  name?: string | null;
}

/** Sums of a series in one step. */
export type Counts = Pick<
  Sums,
  "responses" | "input_tokens" | "cached_tokens" | "output_tokens" | "reasoning_tokens" | "cost"
> & { time: number };

/** Figures over a time, in steps. Times are seconds since the epoch. */
export interface Figures {
  since: number;
  until: number;
  step: number;
  totals: Sums;
  buckets: (Sums & { time: number })[];
  /** At most 1,000 groups, and the sums of all others. */
  groups?: (Sums & Group)[];
  rest?: Sums;
  /** The most expensive groups over time; the one without a value is all others. */
  series?: (Omit<Group, "value"> & { value: string | null; buckets: Counts[] })[];
  in_flight: number;
  queued: number;
  partial?: boolean;
  /** If the figures are partial: since when they have all responses. */
  complete_since?: number;
}

/** One item of an input or an output. */
export type Item = Json & { type?: string; id?: string; role?: string; status?: string };

/** A response as the API returns it. */
export type ResponseBody = Json & { id: string; status: Status; output: Item[] };

/** The requests that backends received: as they were sent, or rebuilt from what is stored. */
export interface UpstreamRequests {
  data: UpstreamRequest[];
  is_rebuilt: boolean;
  /** Whether later requests are omitted. */
  has_more: boolean;
}

/** One request to a backend. */
export interface UpstreamRequest {
  backend: string;
  model: string;
  path: string;
  request: Json;
}

/** A model that requests may name. */
export interface Model {
  id: string;
  owned_by?: string;
}
