/** The requests of a turn: one that creates the response, and those that find it after a lost connection. */
import { ApiError, jsonOf, request, send } from "../../api/client.ts";
import { eventsOf } from "../../api/sse.ts";
import type { Json } from "../../api/types.ts";
import { isEnd } from "./fold.ts";
import type { Manner, TurnState } from "./turn.ts";

const PATH = "/v1/responses";
const POLL = 1_000; // ms between looks at a background response without a stream
const PAUSES = [300, 700, 1_500, 3_000, 6_000, 10_000, 10_000]; // ms before each attempt to connect again
const MOST_MISSES = 3; // a server stores a response a moment after the connection is lost
const GATEWAY = new Set([0, 502, 503, 504]); // statuses of a server that starts, and of the proxy before it

/** What receives a response. */
export interface Receiver {
  readonly state: { readonly value: TurnState };
  readonly manner: Manner;
  /** The number of the newest event. */
  readonly received: number;
  take(event: Json): void;
  /** Show what was taken. */
  flush(): void;
  takeWhole(response: Json): void;
  change(changes: Partial<TurnState>): void;
}

/** Create a response and receive it to its end. Raises `ApiError`, also for a response that stays lost. */
export async function exchange(body: Json, receiver: Receiver, signal: AbortSignal): Promise<void> {
  const reply = await send(PATH, { method: "POST", body, signal });
  receiver.change({ requestId: reply.headers.get("x-request-id") ?? "" });
  if (body.stream) {
    if (!(await isReadToEnd(reply, receiver, signal))) await recover(receiver, signal);
    return;
  }
  receiver.takeWhole(jsonOf<Json>(reply, PATH, await reply.text()));
  await poll(receiver, signal).catch((error) => {
    if (!isUnreachable(error)) throw error;
    return recover(receiver, signal);
  });
}

/** Find a response after its connection was lost. Only a stored one can be found; a background one still runs. */
export async function recover(receiver: Receiver, signal: AbortSignal): Promise<void> {
  if (!receiver.manner.isStored) throw lost("The response is not stored, so the rest of it is lost.");
  if (!receiver.state.value.responseId) throw lost("No event had come that names the response.");
  receiver.change({ isLost: true });
  let misses = 0;
  for (let attempt = 0; attempt < PAUSES.length; attempt++) {
    const before = receiver.received;
    await sleep(PAUSES[attempt] ?? 0, signal);
    try {
      if (await isFound(receiver, signal)) return;
    } catch (error) {
      const isMissing = error instanceof ApiError && error.status === 404;
      if (isMissing && ++misses >= MOST_MISSES) throw lost("The server does not have the response.");
      if (!isMissing && !isUnreachable(error)) throw error;
    }
    if (receiver.received > before) attempt = 0;
  }
  throw lost("The server is unreachable.");
}

function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && GATEWAY.has(error.status);
}

function lost(reason: string): ApiError {
  return new ApiError(200, `The connection was lost before the response ended. ${reason}`, "connection_lost");
}

/** Whether a lost response was received to its end. */
async function isFound(receiver: Receiver, signal: AbortSignal): Promise<boolean> {
  const { isBackground, isStreamed } = receiver.manner;
  const path = `${PATH}/${receiver.state.value.responseId}`;
  if (isBackground && isStreamed && receiver.received >= 0) {
    const stream = await send(path, { query: { stream: "true", starting_after: receiver.received }, signal });
    receiver.change({ isLost: false });
    return isReadToEnd(stream, receiver, signal);
  }
  receiver.takeWhole(await request<Json>(path, { signal }));
  if (isBackground) {
    receiver.change({ isLost: false });
    await poll(receiver, signal);
  }
  if (receiver.state.value.status === "cancelled") {
    receiver.change({ error: lost("So the server cancelled the response, and stored its output so far.") });
  }
  return !isOpen(receiver);
}

/** Read a stream; return whether it came to its end. */
async function isReadToEnd(stream: Response, receiver: Receiver, signal: AbortSignal): Promise<boolean> {
  try {
    for await (const { data } of eventsOf(stream)) {
      if (data === "[DONE]") continue;
      const event = JSON.parse(data) as Json;
      receiver.take(event);
      if (isEnd(event)) return true;
    }
  } catch (error) {
    if (signal.aborted || error instanceof SyntaxError) throw error;
  }
  receiver.flush(); // the first event names the response
  return false;
}

async function poll(receiver: Receiver, signal: AbortSignal): Promise<void> {
  while (isOpen(receiver)) {
    await sleep(POLL, signal);
    receiver.takeWhole(await request<Json>(`${PATH}/${receiver.state.value.responseId}`, { signal }));
  }
}

function isOpen({ state }: Receiver): boolean {
  return ["queued", "in_progress"].includes(state.value.status);
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
