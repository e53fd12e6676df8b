/** The filter line as the page edits it. The server alone decides what a line means. */

/** A part of the line: a filter with its name and value, a word, or alternatives such as `a OR b`. */
export interface Part {
  kind: "filter" | "word" | "alternatives";
  /** The name of a filter; empty for the others. */
  name: string;
  value: string;
  isNegated: boolean;
  /** The part as it is typed. */
  text: string;
}

const PART = /(-?)(?:([A-Za-z_][\w.]*):)?("[^"]*"?|[^\s"]\S*)?/y;

/** Split a line into its parts. Whatever is no filter is a word. */
export function parse(line: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  while (at < line.length) {
    if (/\s/.test(line.charAt(at))) {
      at += 1;
      continue;
    }
    PART.lastIndex = at;
    const [text = "", minus = "", name = "", value = ""] = PART.exec(line) ?? [];
    if (!text) break;
    const kind = name ? "filter" : "word";
    parts.push({ kind, name, value: unquoted(value), isNegated: minus !== "", text });
    at += text.length;
  }
  return withAlternatives(parts);
}

/** Return the line of parts. */
export function format(parts: readonly Part[]): string {
  return parts.map(({ text }) => text).join(" ");
}

/** Return the value of a filter, empty if the line has none; negated filters and alternatives are no such value. */
export function filterValue(line: string, name: string): string {
  return parse(line).find((part) => isOf(part, name))?.value ?? "";
}

/** Return the line with one value for a filter as the line has it, replaced or appended; an empty one removes the filter. */
export function withFilter(line: string, name: string, value: string): string {
  const parts = parse(line);
  const at = parts.findIndex((part) => isOf(part, name));
  const others = parts.filter((part) => !isOf(part, name));
  if (value) others.splice(at < 0 ? others.length : Math.min(at, others.length), 0, filterOf(name, value));
  return format(others);
}

/** Return the line without one of its parts, by its place. */
export function withoutPart(line: string, at: number): string {
  return format(parse(line).toSpliced(at, 1));
}

/** Return a filter as a part of a line; the value is as the line has it. */
export function filterOf(name: string, value: string): Part {
  return { kind: "filter", name, value: unquoted(value), isNegated: false, text: `${name}:${value}` };
}

function isOf(part: Part, name: string): boolean {
  return part.name === name && !part.isNegated;
}

/** Join the parts around each `OR` to one. */
function withAlternatives(parts: readonly Part[]): Part[] {
  const joined: Part[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const [before, part, after] = [joined.at(-1), parts[at], parts[at + 1]];
    if (!part) continue;
    if (part.text !== "OR" || !before || !after) joined.push(part);
    else {
      const text = `${before.text} OR ${after.text}`;
      joined.splice(-1, 1, { kind: "alternatives", name: "", value: text, isNegated: false, text });
      at += 1;
    }
  }
  return joined;
}

function unquoted(value: string): string {
  if (!value.startsWith('"')) return value;
  return value.slice(1, value.length > 1 && value.endsWith('"') ? -1 : undefined);
}
