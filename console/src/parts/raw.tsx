/** Raw text and JSON: coloured, with characters made visible that would hide or reorder others. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { shortJson } from "./brackets.ts";
import { count } from "./format.ts";
import "./raw.css";

/** What the server puts in place of a secret. */
export const STRUCK_OUT = "••••••";

const FIRST = 20_000; // characters of a text that are shown at first
const MORE = 100_000; // and by each press of the button
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/g;
const ODD = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

/** Return a text with characters made visible that are invisible, control the direction, or are no characters. */
export function visible(text: string): ComponentChildren[] {
  const found: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(ODD)) {
    if (match.index > at) found.push(text.slice(at, match.index));
    const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    found.push(<span class="raw-invisible">U+{code}</span>);
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
    const name = text === undefined ? "code-number" : colon === undefined ? "code-string" : "code-key";
    const isHidden = text === `"${STRUCK_OUT}"`;
    found.push(<span class={isHidden ? `${name} code-hidden` : name}>{visible(text ?? whole)}</span>, colon ?? "");
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
  /** So many characters are shown at first. */
  first?: number;
}

/** A text as it is; of a very long one the beginning, and more of it by each press of a button. */
export function LongText({ text, nodes = visible, class: name = "", label, first = FIRST }: TextProps) {
  const end = useSignal(first);
  const displayedText = beginningOf(text, end.value);
  const inside = useMemo(() => nodes(displayedText), [nodes, displayedText]);
  const left = text.length - displayedText.length;
  return (
    <>
      <pre class={name} tabIndex={0} {...(label ? { role: "region", "aria-label": label } : {})}>
        {inside}
      </pre>
      {left > 0 && (
        <button type="button" class="btn bare" onClick={() => (end.value += MORE)}>
          {moreWords(left, MORE)}
        </button>
      )}
    </>
  );
}

/** Return the first characters of a text; no character is cut in two. */
export function beginningOf(text: string, length: number): string {
  const isCut = length < text.length && /[\ud800-\udbff]/.test(text.charAt(length - 1));
  return text.slice(0, isCut ? length - 1 : length);
}

/** Return the words of a button that shows more of a text. */
export function moreWords(left: number, step: number): string {
  return left <= step ? `Show ${count(left)} more characters` : `Show ${count(step)} of ${count(left)} more characters`;
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
