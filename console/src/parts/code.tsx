/** Code in colours: strings, numbers and keywords. */
import type { ComponentChildren } from "preact";
import { visible } from "./raw.tsx";
import "./code.css";

/** A string that nothing closes ends with its line, so that each character is read once. */
const TOKEN =
  /("(?:[^"\\\n]|\\.)*"?)|\b(from|import|for|in|await|const|new|of|print|curl|def|class|return|if|elif|else|while|with|as|try|except|and|or|not|lambda)\b|\b(True|False|None|true|false|null|-?\d+(?:\.\d+)?)\b/g;

/** Return code as nodes; characters that hide or reorder others are visible. */
export function colouredCode(code: string): ComponentChildren[] {
  const found: ComponentChildren[] = [];
  let at = 0;
  for (const match of code.matchAll(TOKEN)) {
    if (match.index > at) found.push(...visible(code.slice(at, match.index)));
    const [whole, text, keyword] = match;
    found.push(<span class={text ? "code-string" : keyword ? "code-key" : "code-number"}>{visible(whole)}</span>);
    at = match.index + whole.length;
  }
  return [...found, ...visible(code.slice(at))];
}
