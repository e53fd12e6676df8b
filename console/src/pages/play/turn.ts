/** One request of a conversation and its response, from the first event to the end. */
import { type Signal, signal } from "@preact/signals";
import { ApiError } from "../../api/client.ts";
import { cancelResponse } from "../../api/responses.ts";
import type { Item, Json, Usage } from "../../api/types.ts";
import { announce } from "../../parts/live.tsx";
import { EventLog } from "./event_log.ts";
import { exchange, type Receiver, recover } from "./exchange.ts";
import { fold } from "./fold.ts";

const FRAME = 16; // ms between two changes of the page
const SHARE = 4; // times that a change of the page took, and then nothing changes
const SLOWEST = 1_000; // ms between two changes, however long one takes

/** Whether a request stores its response, runs it in the background, and streams it. */
export interface Manner {
  isStored: boolean;
  isBackground: boolean;
  isStreamed: boolean;
}

/** What is known of the response. */
export interface TurnState {
  output: readonly Item[];
  responseId: string;
  /** The ID of the request, as in the header `x-request-id` and in the log. */
  requestId: string;
  /** The status of the response, or `stopped` by the reader; `failed` also where there is no response. */
  status: string;
  isRunning: boolean;
  /** Whether the connection was lost, and the page looks for the response. */
  isLost: boolean;
  /** Whether the context of the response is exactly what stands before it in the lane. */
  isChained: boolean;
  firstMs: number | null;
  totalMs: number | null;
  usage: Usage | undefined;
  error: unknown;
  answers: readonly Item[];
}

const FRESH: TurnState = {
  output: [],
  responseId: "",
  requestId: "",
  status: "",
  isRunning: false,
  isLost: false,
  isChained: true,
  firstMs: null,
  totalMs: null,
  usage: undefined,
  error: undefined,
  answers: [],
};

/** A turn. `key` is the same in all lanes that a message was sent to; `body` is the request, unknown after a reload. */
export class Turn implements Receiver {
  readonly state: Signal<TurnState>;
  readonly events = new EventLog();
  /** The events that begin or end something. */
  readonly marks = new EventLog();
  private control = new AbortController();
  private began = 0;
  private waiting: { at: number; event: Json }[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pace = FRAME;
  private newest: number | undefined;

  constructor(
    readonly key: string,
    readonly input: readonly Item[],
    readonly manner: Manner,
    readonly body?: Json,
    known: Partial<TurnState> = {},
  ) {
    this.state = signal({ ...FRESH, ...known });
  }

  /** Whether the message is no part of the conversation, because its request failed. */
  get isFailed(): boolean {
    const { isRunning, status } = this.state.value;
    return !isRunning && status === "failed";
  }

  /** Whether the next request can name the response instead of repeating what was said. */
  get isNameable(): boolean {
    const { responseId, status, isChained } = this.state.value;
    const isWhole = status === "completed" || status === "incomplete";
    return this.manner.isStored && isChained && isWhole && responseId !== "";
  }

  /** Send the request, until the response ends. */
  run(): Promise<void> {
    const { body } = this;
    return this.receive((signal) => exchange(body ?? {}, this, signal));
  }

  /** Look for the response after its connection was lost, and follow it to its end. */
  resume(): Promise<void> {
    return this.receive((signal) => recover(this, signal));
  }

  private async receive(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.control.abort();
    this.control = new AbortController();
    const { signal } = this.control;
    this.began = performance.now();
    this.change({ isRunning: true, error: undefined });
    try {
      await work(signal);
    } catch (error) {
      if (!signal.aborted) this.change({ error, status: "failed" });
    }
    this.flush();
    this.change({ isRunning: false, isLost: false, totalMs: this.passed() });
    announce(`Response ${this.state.value.status || "ended"}.`);
  }

  /** End the connection, and ignore what comes after it; a background response is cancelled. */
  stop(): void {
    this.flush();
    this.control.abort();
    const { responseId } = this.state.value;
    this.change({ status: "stopped" });
    if (this.manner.isBackground && responseId) {
      cancelResponse(responseId).catch((error) => this.change({ error }));
    }
  }

  /** Stop a turn that is received. */
  stopIfRunning(): void {
    if (this.state.peek().isRunning) this.stop();
  }

  /** Keep an answer to a call until all calls have one. */
  answer(item: Item): void {
    this.change({ answers: [...this.state.value.answers, item] });
  }

  /** Change what is known. */
  change(changes: Partial<TurnState>): void {
    this.state.value = { ...this.state.value, ...changes };
  }

  /** The number of the newest event, -1 before the first one. */
  get received(): number {
    return this.newest ?? -1;
  }

  /** Take an event; the page shows it with others of its time. */
  take(event: Json): void {
    this.newest = typeof event.sequence_number === "number" ? event.sequence_number : this.newest;
    this.waiting.push({ at: this.passed(), event });
    this.timer ??= setTimeout(() => this.flush(), this.pace);
  }

  /** Take a response as it is now. */
  takeWhole(response: Json): void {
    this.flush();
    this.change({ output: (response.output ?? []) as Item[], ...factsOf(response) });
  }

  private passed(): number {
    return performance.now() - this.began;
  }

  /** Show the events that wait. The longer the page takes, the less often it changes, so that it stays usable. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const events = this.waiting;
    if (events.length === 0) return;
    this.waiting = [];
    const start = performance.now();
    const state = { ...this.state.value };
    for (const { at, event } of events) {
      if (state.firstMs === null && /\.delta$/.test(String(event.type))) state.firstMs = at;
      Object.assign(state, factsOf(event.response as Json | undefined), { output: fold(state.output, event) });
      if (event.type === "error") Object.assign(state, { error: errorOf(event), status: "failed" });
    }
    this.events.add(events);
    this.marks.add(events.filter(({ event }) => MARK.test(String(event.type))));
    this.state.value = state;
    setTimeout(() => {
      this.pace = Math.min(SLOWEST, Math.max(FRAME, SHARE * (performance.now() - start)));
    });
  }
}

const MARK = /\.(created|added|done|completed|failed|incomplete|cancelled)$/;

function factsOf(response: Json | undefined): Partial<TurnState> {
  if (!response) return {};
  const { id, status, usage, error } = response as { id: string; status: string; usage?: Usage; error?: Json };
  return {
    responseId: String(id ?? ""),
    status: String(status ?? ""),
    usage: usage ?? undefined,
    ...(error ? { error: new ApiError(200, String(error.message), String(error.code ?? "")) } : {}),
  };
}

function errorOf(event: Json): ApiError {
  const error = (event.error ?? event) as Json;
  return new ApiError(200, String(error.message ?? "The stream ended with an error."), String(error.code ?? ""));
}

/** Return a response that exists already as a turn. */
export function turnOf(key: string, input: readonly Item[], response: Json): Turn {
  const manner = { isStored: true, isBackground: response.background === true, isStreamed: true };
  const turn = new Turn(key, input, manner);
  turn.takeWhole(response);
  return turn;
}
