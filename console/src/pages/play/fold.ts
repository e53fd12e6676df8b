/** The output of a response, folded from its events as they come. */
import type { Item, Json } from "../../api/types.ts";

/** Take an event; return the items of the output after it. */
export function fold(items: readonly Item[], event: Json): readonly Item[] {
  const {
    type,
    output_index: at,
    item,
    response,
  } = event as { type: string; output_index?: number; item?: Item; response?: Json };
  if (response && Array.isArray(response.output) && END.has(type)) return response.output as Item[];
  if (at === undefined) return items;
  if (item) return replaced(items, at, item);
  const before = items[at];
  if (!before) return items;
  const change = CHANGES[type];
  return change ? replaced(items, at, change(before, event)) : items;
}

const END = new Set(["response.completed", "response.incomplete", "response.failed", "response.cancelled"]);

/** Whether an event ends its stream. */
export function isEnd(event: Json): boolean {
  return END.has(String(event.type)) || event.type === "error";
}

type Change = (item: Item, event: Json) => Item;

const CHANGES: Record<string, Change> = {
  "response.content_part.added": (item, event) => withPart(item, "content", event.content_index, event.part as Json),
  "response.content_part.done": (item, event) => withPart(item, "content", event.content_index, event.part as Json),
  "response.output_text.delta": (item, event) => withText(item, "content", event.content_index, "text", event.delta),
  "response.refusal.delta": (item, event) => withText(item, "content", event.content_index, "refusal", event.delta),
  "response.reasoning_text.delta": (item, event) => withText(item, "content", event.content_index, "text", event.delta),
  "response.reasoning_summary_part.added": (item, event) =>
    withPart(item, "summary", event.summary_index, event.part as Json),
  "response.reasoning_summary_text.delta": (item, event) =>
    withText(item, "summary", event.summary_index, "text", event.delta),
  "response.function_call_arguments.delta": (item, event) => longer(item, "arguments", event.delta),
  "response.mcp_call_arguments.delta": (item, event) => longer(item, "arguments", event.delta),
  "response.custom_tool_call_input.delta": (item, event) => longer(item, "input", event.delta),
};

function replaced(items: readonly Item[], at: number, item: Item): Item[] {
  const next = [...items];
  next[at] = item;
  return next;
}

function partsOf(item: Item, field: string): Json[] {
  return Array.isArray(item[field]) ? [...(item[field] as Json[])] : [];
}

function withPart(item: Item, field: string, index: unknown, part: Json): Item {
  const parts = partsOf(item, field);
  parts[Number(index ?? 0)] = part;
  return { ...item, [field]: parts };
}

function withText(item: Item, field: string, index: unknown, name: string, delta: unknown): Item {
  const part = partsOf(item, field)[Number(index ?? 0)] ?? { type: name === "refusal" ? "refusal" : "output_text" };
  return withPart(item, field, index, longer(part, name, delta));
}

function longer<T extends Json>(part: T, name: string, delta: unknown): T {
  return { ...part, [name]: String(part[name] ?? "") + String(delta ?? "") };
}
