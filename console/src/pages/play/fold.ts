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
  "response.code_interpreter_call_code.delta": (item, event) => longer(item, "code", event.delta),
  "response.code_interpreter_call_code.done": (item, event) => ({ ...item, code: event.code }),
  "response.code_interpreter_call.interpreting": (item) => ({ ...item, status: "interpreting" }),
  "response.image_generation_call.generating": (item) => ({ ...item, status: "generating" }),
  "response.image_generation_call.partial_image": (item, { partial_image_b64: result, size, quality, background }) => ({
    ...item,
    ...{ result, size, quality, background },
  }),
  "response.shell_call_command.added": (item, event) => withCommand(item, event, String(event.command ?? "")),
  "response.shell_call_command.delta": (item, event) =>
    withCommand(item, event, (commandsOf(item)[placeOf(event.command_index)] ?? "") + String(event.delta ?? "")),
  "response.shell_call_command.done": (item, event) => withCommand(item, event, String(event.command ?? "")),
  "response.shell_call_output_content.delta": withOutput,
  "response.shell_call_output_content.done": (item, event) => ({ ...item, output: event.output }),
};

function replaced(items: readonly Item[], at: number, item: Item): Item[] {
  const next = [...items];
  next[at] = item;
  return next;
}

const MOST_PARTS = 10_000;

/** Return the place of a part in its list; a number that cannot be one is the first place. */
function placeOf(index: unknown): number {
  const place = Number(index ?? 0);
  return Number.isInteger(place) && place >= 0 && place < MOST_PARTS ? place : 0;
}

function partsOf(item: Item, field: string): Json[] {
  return Array.isArray(item[field]) ? [...(item[field] as Json[])] : [];
}

function withPart(item: Item, field: string, index: unknown, part: Json): Item {
  const parts = partsOf(item, field);
  parts[placeOf(index)] = part;
  return { ...item, [field]: parts };
}

function commandsOf(item: Item): string[] {
  const commands = (item.action as Json | undefined)?.commands;
  return Array.isArray(commands) ? [...commands] : [];
}

function withCommand(item: Item, { command_index: index }: Json, command: string): Item {
  const commands = commandsOf(item);
  commands[placeOf(index)] = command;
  return { ...item, action: { ...(item.action as Json), commands } };
}

function withOutput(item: Item, { command_index: index, delta }: Json): Item {
  const { stdout, stderr } = (delta ?? {}) as Json;
  const before = partsOf(item, "output")[placeOf(index)] ?? {};
  return withPart(item, "output", index, longer(longer(before, "stdout", stdout), "stderr", stderr));
}

function withText(item: Item, field: string, index: unknown, name: string, delta: unknown): Item {
  const part = partsOf(item, field)[placeOf(index)] ?? { type: name === "refusal" ? "refusal" : "output_text" };
  return withPart(item, field, index, longer(part, name, delta));
}

function longer<T extends Json>(part: T, name: string, delta: unknown): T {
  return { ...part, [name]: String(part[name] ?? "") + String(delta ?? "") };
}
