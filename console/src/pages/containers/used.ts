/** Which responses used a container. */
import type { Container } from "../../api/containers.ts";
import { listResponses, responseBody } from "../../api/responses.ts";
import type { Item, Json, Summary } from "../../api/types.ts";
import { withOffset } from "../../parts/zone.ts";

const BEFORE = 3_600; // s by which a response may have begun before its container
const AFTER = 60; // s
const MOST_READ = 12; // responses to read
const MOST_FOUND = 10; // calls

/** A call in a container, with the response that made it. */
export interface Call {
  response: Summary;
  item: Item;
}

/** Return the filters of the responses that may have used a container: they ran code while it existed. */
export function filtersOf({ created_at, last_active_at }: Pick<Container, "created_at" | "last_active_at">): string {
  const [since, until] = [created_at - BEFORE, last_active_at + AFTER].map((each) => withOffset(each * 1000));
  return `tool:code_interpreter,shell since:${since} until:${until}`;
}

/** Return the container of a call, undefined for items of other types. */
export function containerOf({ type, container_id, environment }: Item): unknown {
  if (type === "code_interpreter_call") return container_id;
  return type === "shell_call" ? (environment as Json | undefined)?.container_id : undefined;
}

/** Return the last calls in a container, newest first: only the newest responses are read, and only stored ones. */
export async function lastCalls(
  container: Pick<Container, "id" | "tenant" | "created_at" | "last_active_at">,
  signal: AbortSignal,
): Promise<Call[]> {
  const { data } = await listResponses(filtersOf(container), undefined, signal);
  const stored = data.filter(({ store, tenant }) => store && (container.tenant ?? tenant) === tenant);
  const found: Call[] = [];
  for (const response of stored.slice(0, MOST_READ)) {
    const { output } = await responseBody(response.id, signal);
    const calls = output.filter((item) => containerOf(item) === container.id).reverse();
    found.push(...calls.map((item) => ({ response, item })));
    if (found.length >= MOST_FOUND) break;
  }
  return found.slice(0, MOST_FOUND);
}
