/** One item of a conversation. */
import type { ComponentChildren } from "preact";
import { hitsOf } from "../../api/files.ts";
import type { Item, Json } from "../../api/types.ts";
import { plural } from "../format.ts";
import { Icon, type IconName } from "../icons.tsx";
import { jsonOrText, RawJson, visible } from "../raw.tsx";
import { CodeCall, ShellCall, ShellOutput } from "./code.tsx";
import { Content, partsOf } from "./content.tsx";
import { Folded } from "./folded.tsx";
import { Hits } from "./hits.tsx";
import { ImageCall } from "./image_call.tsx";
import "./item.css";
import { describe } from "./kinds.ts";
import { StatusTag, Turn } from "./turn.tsx";

const ROLES: Record<string, { name: string; icon: IconName; face: string }> = {
  user: { name: "User", icon: "user", face: "" },
  assistant: { name: "Assistant", icon: "answer", face: "answer" },
  system: { name: "System", icon: "theme", face: "" },
  developer: { name: "Developer", icon: "theme", face: "" },
};

/** Types of items that are shown in their own way. */
const OWN: Record<string, (props: { item: Item }) => ComponentChildren> = {
  file_search_call: FileSearch,
  code_interpreter_call: CodeCall,
  image_generation_call: ImageCall,
  shell_call: ShellCall,
  shell_call_output: ShellOutput,
};

const FEW_HITS = 3; // passages that are open from the start

/** An item of any type; `after` stands below it, such as the buttons of an approval. */
export function ItemView({ item, after }: { item: Item; after?: ComponentChildren }) {
  if (item.type === "message" || (item.type === undefined && item.role)) return <Message item={item} />;
  if (item.type === "reasoning") return <Reasoning item={item} />;
  const Own = Object.hasOwn(OWN, item.type ?? "") ? OWN[item.type ?? ""] : undefined;
  return Own ? <Own item={item} /> : <Call item={item} after={after} />;
}

function Message({ item }: { item: Item }) {
  const role = ROLES[item.role ?? ""] ?? { name: String(item.role), icon: "user" as const, face: "" };
  const isOurs = item.role === "assistant";
  return (
    <Turn {...role} aside={item.status && item.status !== "completed" ? <span>{item.status}</span> : undefined}>
      <Content parts={partsOf(item.content)} isMarkdown={isOurs} isGrowing={item.status === "in_progress"} />
    </Turn>
  );
}

function Reasoning({ item }: { item: Item }) {
  const parts = [...partsOf(item.summary), ...partsOf(item.content)];
  const text = parts.map((part) => String(part.text ?? "")).join("\n\n");
  return (
    <Turn face="thought" icon="thought" name="Reasoning">
      <Folded
        text={text || (item.encrypted_content ? "Sealed: only its client can send it back." : "No text")}
        isGrowing={item.status === "in_progress"}
      >
        {(displayed) => (
          <p class="markdown pre reasoning-text" dir="auto">
            {displayed}
          </p>
        )}
      </Folded>
    </Turn>
  );
}

function Call({ item, after }: { item: Item; after: ComponentChildren }) {
  const { face, icon, name, sent, received } = describe(item);
  return (
    <Turn face={face} icon={icon} name={name} aside={item.status && <StatusTag status={item.status} />}>
      {after ?? <Exchange sent={sent} received={received} error={item.error} />}
    </Turn>
  );
}

/** Its results are null unless the request included `file_search_call.results`. */
function FileSearch({ item }: { item: Item }) {
  const queries = Array.isArray(item.queries) ? item.queries : [];
  const hits = hitsOf(item);
  return (
    <Turn face="tool" icon="files" name="File search" aside={item.status && <StatusTag status={item.status} />}>
      <ul class="queries" aria-label="Queries">
        {queries.map((query, at) => (
          <li key={at}>
            <code>{visible(String(query))}</code>
          </li>
        ))}
      </ul>
      {Array.isArray(item.results) && (
        <details class="item-card" open={hits.length <= FEW_HITS}>
          <summary>
            <Icon name="right" />
            {plural(hits.length, "passage")}
          </summary>
          <Hits hits={hits} />
        </details>
      )}
    </Turn>
  );
}

function Exchange({ sent = "", received, error }: { sent: string | undefined; received: unknown; error: unknown }) {
  const below = typeof received === "string" ? jsonOrText(received) : received;
  const isEmpty = below === undefined || below === null || below === "";
  if (isEmpty && sent.length < 120 && !error) {
    return (
      <div class="item-card">
        <div class="line">
          <code class="cut">{visible(sent)}</code>
        </div>
      </div>
    );
  }
  return (
    <details class="item-card" open={String(received ?? "").length < 2000 && sent.length < 2000}>
      <summary>
        <Icon name="right" />
        <code class="cut">{visible(sent.slice(0, 400) || "Output")}</code>
      </summary>
      {sent.length > 80 && <RawJson isShort class="" value={jsonOrText(sent)} />}
      {!isEmpty && <RawJson isShort class="" value={compacted(below)} />}
    </details>
  );
}

/** Text parts of an MCP or function output as their text. */
function compacted(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const texts = (value as Json[]).map((part) => part?.text);
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : value;
}
