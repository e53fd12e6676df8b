/** Raw text and JSON: coloured, with characters made visible that would hide or reorder others. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { shortJson } from "./brackets.ts";
import { count } from "./format.ts";

/** What the server puts in place of a secret. */
export const STRUCK_OUT = "••••••";

const LONGEST = 100_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/g;
const ODD = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

/** Return a text with characters made visible that are invisible, control the direction, or are no characters. */
export function visible(text: string): ComponentChildren[] {
  const found: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(ODD)) {
    if (match.index > at) found.push(text.slice(at, match.index));
    const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    found.push(<span class="odd">U+{code}</span>);
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push(text.slice(at));
  return found;
}

/** Return JSON in colours. */
export function coloured(json: string): ComponentChildren[] {
  const found: ComponentChildren[] = [];
  let at = 0;
  for (const match of json.matchAll(TOKEN)) {
    if (match.index > at) found.push(...visible(json.slice(at, match.index)));
    const [whole, text, colon] = match;
    const name = text === undefined ? "j-n" : colon === undefined ? "j-s" : "j-k";
    const isHidden = text === `"${STRUCK_OUT}"`;
    found.push(<span class={isHidden ? `${name} j-h` : name}>{visible(text ?? whole)}</span>, colon ?? "");
    at = match.index + whole.length;
  }
  if (at < json.length) found.push(...visible(json.slice(at)));
  return found;
}

interface Props {
  value: unknown;
  class?: string;
  label?: string;
  isShort?: boolean;
}

/** A JSON value, indented. */
export function RawJson({ value, isShort, ...rest }: Props) {
  const text = typeof value === "string" ? value : isShort ? shortJson(value) : JSON.stringify(value, null, 2);
  return <LongText text={text} nodes={typeof value === "string" ? visible : coloured} class="raw" {...rest} />;
}

interface TextProps {
  text: string;
  /** Return the text as nodes. */
  nodes?: (text: string) => ComponentChildren[];
  class?: string;
  label?: string;
}

/** A text as it is; of a very long one the beginning, until the reader wants all of it. */
export function LongText({ text, nodes = visible, class: name = "", label }: TextProps) {
  const isWhole = useSignal(false);
  const displayedText = isWhole.value ? text : text.slice(0, LONGEST);
  const inside = useMemo(() => nodes(displayedText), [nodes, displayedText]);
  return (
    <>
      <pre class={name} tabIndex={0} {...(label ? { role: "region", "aria-label": label } : {})}>
        {inside}
      </pre>
      {displayedText.length < text.length && (
        <button type="button" class="btn bare" onClick={() => (isWhole.value = true)}>
          Show {count(text.length - displayedText.length)} more characters
        </button>
      )}
    </>
  );
}

/** Return the value of a JSON text, or the text itself if it is not JSON. */
export function jsonOrText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}
