/** What is known of each type of item: its face, its name, and where its words are. */
import type { Item, Json } from "../../api/types.ts";
import { plural } from "../format.ts";
import type { IconName } from "../icons.tsx";

/** How an item is shown: `sent` goes into the card's head, `received` below it. */
export interface Description {
  face: "" | "answer" | "tool" | "thought";
  icon: IconName;
  name: string;
  sent?: string;
  received?: unknown;
}

type Describe = (item: Item) => Description;

function call(
  name: (item: Item) => unknown,
  sent: (item: Item) => unknown,
  received?: (item: Item) => unknown,
): Describe {
  return (item) => ({
    face: "tool",
    icon: "tool",
    name: String(name(item) ?? item.type),
    sent: textOf(sent(item)),
    ...(received ? { received: received(item) } : {}),
  });
}

function result(name: string): Describe {
  return (item) => ({ face: "tool", icon: "tool", name, received: item.output });
}

const WEB: Describe = (item) => {
  const action = (item.action ?? {}) as Json;
  const sources = Array.isArray(action.sources) ? plural(action.sources.length, "source") : undefined;
  return {
    face: "tool",
    icon: "web",
    name: "Web search",
    sent: textOf(action.query ?? action.url ?? ""),
    received: sources,
  };
};

const KINDS: Record<string, Describe> = {
  function_call: call(
    (item) => item.name,
    (item) => item.arguments,
  ),
  function_call_output: result("Function output"),
  custom_tool_call: call(
    (item) => item.name,
    (item) => item.input,
  ),
  custom_tool_call_output: result("Tool output"),
  mcp_call: call(
    (item) => `${item.server_label}.${item.name}`,
    (item) => item.arguments,
    (item) => item.error ?? item.output,
  ),
  mcp_list_tools: call(
    (item) => `${item.server_label}: tools`,
    (item) => (Array.isArray(item.tools) ? (item.tools as Json[]).map(({ name }) => name).join(", ") : ""),
  ),
  mcp_approval_request: call(
    (item) => `${item.server_label}.${item.name}`,
    (item) => item.arguments,
  ),
  mcp_approval_response: call(
    (item) => (item.approve ? "Approved" : "Denied"),
    (item) => item.reason ?? item.approval_request_id,
  ),
  web_search_call: WEB,
  local_shell_call: call(
    () => "Shell",
    (item) => ((item.action as Json)?.command as string[])?.join?.(" "),
  ),
  local_shell_call_output: result("Shell output"),
  apply_patch_call: call(
    () => "Apply patch",
    (item) => (item.operation as Json)?.path,
    (item) => (item.operation as Json)?.diff,
  ),
  apply_patch_call_output: result("Patch output"),
};

/** Return how an item is shown; one of an unknown type is shown whole. */
export function describe(item: Item): Description {
  const known = Object.hasOwn(KINDS, item.type ?? "") ? KINDS[item.type ?? ""] : undefined;
  return known?.(item) ?? { face: "", icon: "dots", name: String(item.type ?? "item"), received: item };
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
