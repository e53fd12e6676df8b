/** Requests about responses: lists, figures, one response, and what can be done with it. */
import { request, send } from "./client.ts";
import { eventsOf } from "./sse.ts";
import type { Details, Figures, Item, Json, List, ResponseBody, Summary, UpstreamRequests } from "./types.ts";

const ADMIN = "/admin/v1/responses";
const PAGE = 50;

/** Return a page of responses that match a filter line, newest first. */
export function listResponses(q: string, after: string | undefined, signal: AbortSignal): Promise<List<Summary>> {
  return request(ADMIN, { query: { q, after, limit: PAGE }, signal });
}

/** What the live stream reports: a new or changed row, or how many were skipped. */
export type LiveEvent = { row: Summary } | { skipped: number } | { ping: true };

/** Yield rows as they appear and change, until the connection ends. */
export async function* liveResponses(q: string, signal: AbortSignal): AsyncGenerator<LiveEvent> {
  const response = await send(`${ADMIN}/stream`, { query: { q }, signal });
  for await (const { event, data } of eventsOf(response)) {
    if (event === "row") yield { row: JSON.parse(data) as Summary };
    else if (event === "skipped") yield { skipped: (JSON.parse(data) as { count: number }).count };
    else yield { ping: true };
  }
}

/** What figures cover. Times are seconds since the epoch. */
export interface FiguresQuery {
  q?: string;
  since: number;
  until: number;
  step: number;
  by?: "model" | "backend" | "key" | "tenant";
  /** How many groups to return over time. */
  series?: number;
}

/** Return sums over a time, in steps, and by group where `by` names one. */
export function figures(query: FiguresQuery, signal?: AbortSignal): Promise<Figures> {
  return request("/admin/v1/figures", { query: { ...query }, ...(signal ? { signal } : {}) });
}

/** Return one response with its timeline, notes and chain. */
export function details(id: string, signal: AbortSignal): Promise<Details> {
  return request(pathOf(id), { signal });
}

/** Return the stored response. */
export function responseBody(id: string, signal?: AbortSignal): Promise<ResponseBody> {
  return request(pathOf(id, "/body"), signal ? { signal } : {});
}

/** Return the items of a response's own input. */
export async function inputItems(id: string, signal?: AbortSignal): Promise<Item[]> {
  const listed = await request<List<Item>>(pathOf(id, "/input_items"), signal ? { signal } : {});
  return listed.data;
}

/** Return up to 500 stored events that follow the event with a sequence number. */
export function storedEvents(id: string, after: number, signal?: AbortSignal): Promise<List<Json>> {
  return request(pathOf(id, "/events"), { query: { after, limit: 500 }, ...(signal ? { signal } : {}) });
}

/** A step of an agent, without its body. Its ID is its place. Times are in milliseconds. */
export interface Step {
  id: string;
  key: string;
  state: "begun" | "done" | "failed" | "item" | "waits";
  /** Whether it ran once and did not end: it may have taken effect. */
  is_unknown: boolean;
  attempt: number;
  version: string;
  started_ms: number;
  ended_ms: number | null;
  body_bytes: number;
}

/** Return the path of the list of a response's steps. */
export function pathOfSteps(id: string): string {
  return pathOf(id, "/steps");
}

/** Return what a step stored. */
export async function stepBody(id: string, step: string, signal: AbortSignal): Promise<unknown> {
  return (await request<{ body: unknown }>(pathOf(id, `/steps/${step}`), { signal })).body;
}

/** Return the request of a response, rebuilt from what is stored. Secrets are missing. */
export async function requestBody(id: string, signal?: AbortSignal): Promise<Json> {
  const found = await request<{ request: Json }>(pathOf(id, "/request"), signal ? { signal } : {});
  return found.request;
}

/** Return the requests that backends received. */
export function upstreamRequests(id: string, signal?: AbortSignal): Promise<UpstreamRequests> {
  return request(pathOf(id, "/calls"), signal ? { signal } : {});
}

/** Cancel a background response. */
export function cancelResponse(id: string): Promise<void> {
  return request(`/v1/responses/${encodeURIComponent(id)}/cancel`, { method: "POST" });
}

/** Delete a response. */
export function deleteResponse(id: string): Promise<void> {
  return request(`/v1/responses/${encodeURIComponent(id)}`, { method: "DELETE" });
}

function pathOf(id: string, rest = ""): string {
  return `${ADMIN}/${encodeURIComponent(id)}${rest}`;
}
