/** Server-sent events, read by fetch, because an EventSource sends no header. */

/** One event of a stream. */
export interface ServerEvent {
  event: string;
  data: string;
  id: string;
}

/** Collects the events of a stream from pieces of its text. */
export class EventParser {
  private rest = "";
  private event = "";
  private data: string[] = [];
  private id = "";

  /** Take a piece of the stream; return the events that it completes. */
  push(piece: string): ServerEvent[] {
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): ServerEvent[] {
    if (line === "") return this.dispatch();
    const colon = line.indexOf(":");
    const [field, value] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.id = value;
    return [];
  }

  private dispatch(): ServerEvent[] {
    const found = { event: this.event || "message", data: this.data.join("\n"), id: this.id };
    const isEmpty = this.data.length === 0;
    this.event = "";
    this.data = [];
    return isEmpty ? [] : [found];
  }
}

/** Yield the events of a response until it ends. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  if (!response.body) return;
  const parser = new EventParser();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
