/** The filter line as the page edits it. The server alone decides what a line means. */

/** A part of the line: a filter with its name and value, or a word to search for (`name` is empty). */
export interface Part {
  name: string;
  value: string;
}

const PART = /(?:([A-Za-z_][\w.]*):)?("(?:[^"\\]|\\.)*"?|[^\s"]\S*)?/y;

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
    const [text = "", name = "", value = ""] = PART.exec(line) ?? [];
    if (!text) break;
    parts.push({ name, value: unquoted(value) });
    at += text.length;
  }
  return parts;
}

/** Return the line of parts. */
export function format(parts: readonly Part[]): string {
  return parts.map(({ name, value }) => (name ? `${name}:${quoted(value)}` : quoted(value, true))).join(" ");
}

/** Return the value of a filter, empty where the line has none. */
export function filterValue(line: string, name: string): string {
  return parse(line).find((part) => part.name === name)?.value ?? "";
}

/** Return the line with one value for a filter, replaced or appended; an empty value removes the filter. */
export function withFilter(line: string, name: string, value: string): string {
  const parts = parse(line);
  const at = parts.findIndex((part) => part.name === name);
  const others = parts.filter((part) => part.name !== name);
  if (value) others.splice(at < 0 ? others.length : Math.min(at, others.length), 0, { name, value });
  return format(others);
}

function unquoted(value: string): string {
  if (!value.startsWith('"')) return value;
  return value.slice(1, value.length > 1 && value.endsWith('"') ? -1 : undefined).replace(/\\(.)/g, "$1");
}

function quoted(value: string, isWord = false): string {
  const isPlain = /^[^\s"]+$/.test(value) && !(isWord && /^[A-Za-z_][\w.]*:/.test(value));
  return isPlain ? value : `"${value.replace(/["\\]/g, "\\$&")}"`;
}
