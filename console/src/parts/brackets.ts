/** Nested values as text: on one line where they fit, else one part a line. */

const LONGEST_LINE = 72;

/** Return parts in brackets; `depth` is how deep they are. */
export function bracketed(parts: string[], brackets: string, depth: number, indent: string): string {
  const [open, close] = [brackets.charAt(0), brackets.charAt(1)];
  const space = brackets === "{}" && indent === "  " && parts.length > 0 ? " " : "";
  const line = `${open}${space}${parts.join(", ")}${space}${close}`;
  if (line.length <= LONGEST_LINE && !line.includes("\n")) return line;
  const inner = indent.repeat(depth + 1);
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent.repeat(depth)}${close}`;
}

/** Return a value as JSON in few lines. */
export function shortJson(value: unknown, depth = 0): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value))
    return withoutLastComma(
      bracketed(
        value.map((each) => shortJson(each, depth + 1)),
        "[]",
        depth,
        "  ",
      ),
    );
  const parts = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${shortJson(each, depth + 1)}`);
  return withoutLastComma(bracketed(parts, "{}", depth, "  "));
}

function withoutLastComma(text: string): string {
  return text.replace(/,(\n\s*[\]}])$/, "$1");
}
