/** One conversation with one model: the sent and received items, and what it waits for. */
import { type Signal, signal } from "@preact/signals";
import { ApiError, request, send } from "../../api/client.ts";
import { eventsOf } from "../../api/sse.ts";
import type { Item, Json, Usage } from "../../api/types.ts";
import { announce } from "../../parts/live.tsx";
import { fold, isEnd } from "./fold.ts";
import type { Place } from "./settings.ts";

const MOST_EVENTS = 2_000; // that are kept for the list
const POLL = 1_000; // ms between looks at a background response without a stream

/** An event with the time since the request, in ms. */
export interface TimedEvent {
  at: number;
  event: Json;
}

/** What a lane shows. */
export interface LaneState {
  items: readonly Item[];
  output: readonly Item[];
  events: readonly TimedEvent[];
  place: Place;
  responseId: string;
  status: string;
  isRunning: boolean;
  firstMs: number | null;
  totalMs: number | null;
  usage: Usage | undefined;
  error: unknown;
  sent: Json | undefined;
  answers: readonly Item[];
}

/** A lane before its first request. */
export const FRESH: LaneState = {
  items: [],
  output: [],
  events: [],
  place: {},
  responseId: "",
  status: "",
  isRunning: false,
  firstMs: null,
  totalMs: null,
  usage: undefined,
  error: undefined,
  sent: undefined,
  answers: [],
};

/** A lane: its state, and the means to stop its request. */
export class Lane {
  readonly state: Signal<LaneState> = signal(FRESH);
  private control = new AbortController();
  private began = 0;

  constructor(readonly model: string) {}

  /** Forget the conversation; `place` is where the next one continues. */
  clear(place: Place = {}): void {
    this.control.abort();
    this.state.value = { ...FRESH, place };
  }

  /** Show a response that exists already, so that the next request continues it. */
  show(input: readonly Item[], response: Json): void {
    this.control.abort();
    const output = (response.output ?? []) as Item[];
    this.state.value = { ...FRESH, items: input, output, ...facts(response) };
  }

  /** Send a request, and show `said` as its input, until the response ends. */
  async run(body: Json, said: readonly Item[]): Promise<void> {
    this.control.abort();
    this.control = new AbortController();
    const { items, output } = this.state.value;
    const before = [...items, ...output, ...said];
    this.began = performance.now();
    this.change({ ...FRESH, place: this.state.value.place, items: before, isRunning: true, sent: body });
    try {
      if (body.stream) await this.follow(body);
      else await this.wait(body);
    } catch (error) {
      if (!this.control.signal.aborted) this.change({ error });
    }
    this.change({ isRunning: false, totalMs: this.passed() });
    announce(`Response ${this.state.value.status || "ended"}.`);
  }

  /** Stop: close the connection, and cancel a background response. */
  stop(): void {
    const { responseId, sent } = this.state.value;
    this.control.abort();
    if (sent?.background && responseId) {
      request(`/v1/responses/${responseId}/cancel`, { method: "POST" }).catch((error) => this.change({ error }));
    }
    this.change({ status: "stopped" });
  }

  /** Keep an answer to a call until all calls have one. */
  answer(item: Item): void {
    this.change({ answers: [...this.state.value.answers, item] });
  }

  private change(changes: Partial<LaneState>): void {
    this.state.value = { ...this.state.value, ...changes };
  }

  private passed(): number {
    return performance.now() - this.began;
  }

  private async follow(body: Json): Promise<void> {
    const { signal } = this.control;
    let response = await send("/v1/responses", { method: "POST", body, signal });
    for (;;) {
      if (await this.read(response)) return;
      const last = this.state.value.events.at(-1)?.event.sequence_number;
      const { responseId } = this.state.value;
      if (!body.background || !responseId) throw new ApiError(0, "The connection was lost before the response ended.");
      const query = { stream: "true", starting_after: Number(last ?? -1) };
      response = await send(`/v1/responses/${responseId}`, { query, signal });
    }
  }

  /** Read a stream; return whether it came to its end. */
  private async read(response: Response): Promise<boolean> {
    try {
      for await (const { data } of eventsOf(response)) {
        if (data === "[DONE]") continue;
        const event = JSON.parse(data) as Json;
        this.take(event);
        if (isEnd(event)) return true;
      }
    } catch (error) {
      if (this.control.signal.aborted || error instanceof SyntaxError) throw error;
    }
    return false;
  }

  private take(event: Json): void {
    const { events, output, firstMs } = this.state.value;
    const at = this.passed();
    const isFirst = firstMs === null && /\.delta$/.test(String(event.type));
    this.change({
      events: [...events.slice(-MOST_EVENTS), { at, event: withoutImage(event) }],
      output: fold(output, event),
      ...(isFirst ? { firstMs: at } : {}),
      ...facts(event.response as Json | undefined),
      ...(event.type === "error" ? { error: errorOf(event) } : {}),
    });
  }

  private async wait(body: Json): Promise<void> {
    const { signal } = this.control;
    let response = await request<Json>("/v1/responses", { method: "POST", body, signal });
    for (;;) {
      this.change({ output: (response.output ?? []) as Item[], ...facts(response) });
      if (response.status !== "queued" && response.status !== "in_progress") return;
      await new Promise((resolve) => setTimeout(resolve, POLL));
      response = await request<Json>(`/v1/responses/${response.id}`, { signal });
    }
  }
}

/** Partial images are large, and the output has the newest one. */
function withoutImage(event: Json): Json {
  if (event.partial_image_b64 === undefined) return event;
  const { partial_image_b64: _, ...rest } = event;
  return rest;
}

function facts(response: Json | undefined): Partial<LaneState> {
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
