/** The parts of two responses that are compared. IDs are not compared: they always differ. */
import type { Json, UpstreamRequests } from "../../api/types.ts";
import { diffJson, type JsonDiff } from "./json_diff.ts";

/** What is known of one response: its request, its output, and the requests to its backends. */
export interface Content {
  request: Json | undefined;
  output: readonly Json[] | undefined;
  calls: UpstreamRequests | undefined;
}

/** One part with its differences. */
export interface Part {
  name: string;
  diff: JsonDiff;
}

const IDS = new Set(["id", "call_id", "tool_call_id", "approval_request_id", "response_id", "container_id"]);
const OWN_PARTS = new Set(["instructions", "input", "tools"]);

/** Return the parts, of which both sides have the content. */
export function partsOf(a: Content, b: Content): Part[] {
  const parts: Part[] = [];
  const add = (name: string, path: string, left: unknown, right: unknown) => {
    parts.push({ name, diff: diffJson(left, right, path) });
  };
  if (a.request && b.request) {
    const [left, right] = [a.request, b.request];
    add("Instructions", "instructions", left.instructions, right.instructions);
    add("Input", "input", itemsOf(left.input), itemsOf(right.input));
    add("Tools", "tools", left.tools ?? [], right.tools ?? []);
    add("Settings", "", settingsOf(left), settingsOf(right));
  }
  if (a.calls && b.calls) add("Requests to backends", "", callsOf(a.calls), callsOf(b.calls));
  if (a.output && b.output) add("Output", "output", a.output.map(withoutIds), b.output.map(withoutIds));
  return parts;
}

/** A text as input is one message of the user. */
function itemsOf(input: unknown): unknown[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return Array.isArray(input) ? input.map(withoutIds).map(plainMessage) : [];
}

function plainMessage(item: unknown): unknown {
  if (typeof item !== "object" || item === null) return item;
  const { type, status, ...rest } = item as Json;
  if (type !== undefined && type !== "message") return item;
  const content = rest.content;
  const only = Array.isArray(content) && content.length === 1 ? (content[0] as Json) : undefined;
  const isText = only?.type === "input_text" || only?.type === "output_text";
  return isText ? { ...rest, content: only.text } : rest;
}

function settingsOf(request: Json): Json {
  return Object.fromEntries(Object.entries(request).filter(([name, value]) => !OWN_PARTS.has(name) && value !== null));
}

/** The calls as an object, so that the first is compared with the first. */
function callsOf({ data }: UpstreamRequests): Json {
  const entries = data.map(({ backend, path, request }, at) => {
    const messages = ["messages", "input"].map((name) => {
      const all = request[name];
      return [name, Array.isArray(all) ? all.map(withoutIds) : all] as const;
    });
    const known = Object.fromEntries(messages.filter(([, value]) => value !== undefined));
    return [`call ${at + 1}`, { backend, path, ...request, ...known }] as const;
  });
  return Object.fromEntries(entries);
}

/** Return an item or a message without its IDs, and those of its calls. Nothing deeper is touched: it is the client's. */
export function withoutIds(item: unknown): unknown {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
  const fields = Object.entries(item).filter(([name]) => !IDS.has(name));
  return Object.fromEntries(
    fields.map(([name, value]) => [
      name,
      name === "tool_calls" && Array.isArray(value) ? value.map(withoutIds) : value,
    ]),
  );
}
