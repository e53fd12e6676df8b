/** A value of a JSON document that has no children. Long texts and base64 are folded. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { copy } from "../copy.ts";
import { bytes, count } from "../format.ts";
import { beginningOf, LongText, STRUCK_OUT, visible } from "../raw.tsx";

const LONGEST = 300; // characters of a text that is shown whole
const AROUND = 120; // characters before and after a place that was found
const BASE64 = /^(data:[\w.+-]+\/[\w.+-]+;base64,)?[A-Za-z0-9+/_-]{250}/;

interface Props {
  value: unknown;
  /** Where a search found something in it, and how many characters; undefined where it found nothing. */
  found: { at: number; length: number } | undefined;
}

/** The value, in its colour. */
export function Scalar({ value, found }: Props) {
  if (typeof value === "string" && value.length > LONGEST) return <LongString text={value} found={found} />;
  const json = JSON.stringify(value) ?? "null";
  if (typeof value !== "string") return <span class={found ? "code-number json-hit" : "code-number"}>{json}</span>;
  if (value === STRUCK_OUT) return <span class="code-string code-hidden">{visible(json)}</span>;
  if (!found) return <span class="code-string">{visible(json)}</span>;
  return <span class="code-string">{marked(value, found, 0, value.length)}</span>;
}

function LongString({ text, found }: { text: string; found: Props["found"] }) {
  const isOpen = useSignal(false);
  const isBase64 = BASE64.test(text);
  const excerpt = found
    ? marked(text, found, Math.max(0, found.at - AROUND), found.at + found.length + AROUND)
    : [...visible(JSON.stringify(beginningOf(text, isBase64 ? 40 : LONGEST)).slice(0, -1)), "…"];
  return (
    <>
      {!isOpen.value && <span class="code-string">{excerpt}</span>}{" "}
      <span class="json-tools">
        <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          {isOpen.value ? "Fold" : "Show"}{" "}
          {isBase64 ? `base64, ${bytes((text.length * 3) / 4)}` : `${count(text.length)} characters`}
        </button>
        <button type="button" onClick={() => copy(text, "Text")}>
          Copy
        </button>
      </span>
      {isOpen.value && (
        <div class="json-text">
          <LongText text={text} label="Text" />
        </div>
      )}
    </>
  );
}

/** Return a part of a text as JSON, with what was found marked. */
function marked(text: string, { at, length }: { at: number; length: number }, from: number, to: number) {
  const json = (part: string): ComponentChildren[] => visible(JSON.stringify(part).slice(1, -1));
  return [
    from > 0 ? "…" : '"',
    ...json(text.slice(from, at)),
    <mark key="found">{json(text.slice(at, at + length))}</mark>,
    ...json(text.slice(at + length, to)),
    to < text.length ? "…" : '"',
  ];
}
