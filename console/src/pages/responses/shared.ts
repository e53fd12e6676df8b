/** One live stream for all tabs that show the same list, since a browser opens few connections to one server.
 *
 * The tab that has the lock reads the stream and passes on what it gets. When it leaves, another tab has the lock.
 */
import { PREFIX } from "../../api/base.ts";
import { type LiveEvent, liveResponses } from "../../api/responses.ts";
import { identity } from "../../api/session.ts";

/** What a tab gets: an event of the stream, or that events may be missing because another tab took over. */
export type SharedEvent = LiveEvent | { missed: true };

/** Yield what the live stream of a filter line reports, as long as one of the tabs can read it. */
export async function* sharedResponses(q: string, aborted: AbortSignal): AsyncGenerator<SharedEvent> {
  if (!navigator.locks) return yield* liveResponses(q, aborted); // browsers have locks on secure pages only
  const left = new AbortController();
  const signal = AbortSignal.any([aborted, left.signal]);
  const name = JSON.stringify(["antiphon", PREFIX, identity(), q]);
  const channel = new BroadcastChannel(name);
  const inbox = new Inbox<SharedEvent>();
  channel.onmessage = ({ data }) => inbox.put(data as SharedEvent);
  const pass = (event: SharedEvent) => {
    channel.postMessage(event);
    inbox.put(event);
  };
  const read = async () => {
    for await (const event of liveResponses(q, signal)) pass(event);
  };
  const takeOver = () => {
    pass({ missed: true });
    return read();
  };
  const lead = async () => {
    const isLeader = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
      if (lock) await read();
      return lock !== null;
    });
    if (isLeader) return;
    inbox.put({ ping: true });
    await navigator.locks.request(name, { signal }, takeOver);
  };
  lead().then(
    () => inbox.end(),
    (reason) => inbox.end(reason),
  );
  try {
    yield* inbox.all();
  } finally {
    left.abort();
    channel.close();
  }
}

/** Values that wait for one reader. */
class Inbox<T> {
  private waiting: T[] = [];
  private isOver = false;
  private reason: unknown;
  private wake = () => {};

  put(value: T): void {
    this.waiting.push(value);
    this.wake();
  }

  /** Nothing more comes; with a reason, the reader gets it as an error. */
  end(reason?: unknown): void {
    this.isOver = true;
    this.reason = reason;
    this.wake();
  }

  async *all(): AsyncGenerator<T> {
    for (;;) {
      yield* this.waiting.splice(0);
      if (this.waiting.length > 0) continue;
      if (this.isOver && this.reason !== undefined) throw this.reason;
      if (this.isOver) return;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }
}
