/** Markdown as data: paragraphs, headings, lists, code, tables, quotations, emphasis and links. No HTML. */

/** A piece of a line. */
export type Inline =
  | { is: "text" | "code"; text: string }
  | { is: "strong" | "em" | "del"; inside: Inline[] }
  | { is: "link"; href: string; inside: Inline[] }
  | { is: "image"; href: string; alt: string };

/** A block of lines. */
export type Block =
  | { is: "paragraph" | "heading"; inside: Inline[] }
  | { is: "code"; text: string; language: string }
  | { is: "list"; isOrdered: boolean; start: number; items: Block[][] }
  | { is: "quote"; blocks: Block[] }
  | { is: "table"; head: Inline[][]; rows: Inline[][][] }
  | { is: "rule" };

const DEEPEST = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}#{1,6}\s+(.*)$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)(.*)$/;
const DIVIDER = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/;

/** Return the blocks of a text. Takes linear time, whatever the text is. */
export function parseMarkdown(text: string): Block[] {
  return blocksOf(text.split(/\r?\n/), 0);
}

/** A block, and the place of its first character in the text. */
export interface PlacedBlock {
  block: Block;
  start: number;
}

const OPEN = 2; // blocks at the end of a growing text that can still change

/** Return the blocks of a text that has grown, and take from `before` those that more text cannot change. */
export function parseGrown(text: string, before: readonly PlacedBlock[]): PlacedBlock[] {
  const settled = before.slice(0, -OPEN);
  const start = before[settled.length]?.start ?? 0;
  const ends = text.slice(start).split("\n");
  const lines = ends.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const found: PlacedBlock[] = [];
  let place = start;
  let at = 0;
  while (at < lines.length) {
    const [block, next] = blockAt(lines, at, 0);
    if (block) found.push({ block, start: place });
    for (; at < next; at++) place += (ends[at] ?? "").length + 1;
  }
  return [...settled, ...found];
}

function blocksOf(lines: string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = blockAt(lines, at, depth);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

function blockAt(lines: string[], at: number, depth: number): [Block | undefined, number] {
  const line = lines[at] ?? "";
  if (!line.trim()) return [undefined, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return codeAt(lines, at, fence[1] ?? "```", fence[2] ?? "");
  const heading = HEADING.exec(line);
  if (heading) return [{ is: "heading", inside: parseInline((heading[1] ?? "").replace(/ +#+ *$/, "")) }, at + 1];
  if (RULE.test(line)) return [{ is: "rule" }, at + 1];
  if (depth < DEEPEST && /^ {0,3}>/.test(line)) return quoteAt(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return listAt(lines, at, depth);
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "")) return tableAt(lines, at);
  return paragraphAt(lines, at, depth);
}

function codeAt(lines: string[], at: number, fence: string, language: string): [Block, number] {
  let end = at + 1;
  while (end < lines.length && !(lines[end] ?? "").trim().startsWith(fence)) end += 1;
  return [{ is: "code", text: lines.slice(at + 1, end).join("\n"), language }, end + 1];
}

function quoteAt(lines: string[], at: number, depth: number): [Block, number] {
  let end = at;
  while (/^ {0,3}>/.test(lines[end] ?? "")) end += 1;
  const inside = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ""));
  return [{ is: "quote", blocks: blocksOf(inside, depth + 1) }, end];
}

function listAt(lines: string[], at: number, depth: number): [Block, number] {
  const [, indent = "", marker = "-"] = ITEM.exec(lines[at] ?? "") ?? [];
  const isOrdered = /\d/.test(marker);
  const items: Block[][] = [];
  let here = at;
  while (here < lines.length) {
    const found = ITEM.exec(lines[here] ?? "");
    if (!found || found[1] !== indent || /\d/.test(found[2] ?? "") !== isOrdered) break;
    const inside = [found[3] ?? ""];
    here += 1;
    while (here < lines.length && belongs(lines, here, indent.length)) {
      inside.push(dedented(lines[here] ?? "", indent.length));
      here += 1;
    }
    items.push(blocksOf(inside, depth + 1));
  }
  return [{ is: "list", isOrdered, start: Number.parseInt(marker, 10) || 1, items }, Math.max(here, at + 1)];
}

/** Whether a line continues the list item before it: it is indented further, or blank before such a line. */
function belongs(lines: string[], at: number, indent: number): boolean {
  const line = lines[at] ?? "";
  if (!line.trim()) return indentOf(lines[at + 1] ?? "") > indent && (lines[at + 1] ?? "").trim() !== "";
  return indentOf(line) > indent;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function dedented(line: string, indent: number): string {
  return line.slice(Math.min(indentOf(line), indent + 2));
}

function tableAt(lines: string[], at: number): [Block, number] {
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|")) end += 1;
  const rows = lines.slice(at + 2, end).map(cells);
  return [{ is: "table", head: cells(lines[at] ?? ""), rows }, end];
}

function cells(line: string): Inline[][] {
  const trimmed = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return trimmed.split("|").map((cell) => parseInline(cell.trim()));
}

function paragraphAt(lines: string[], at: number, depth: number): [Block, number] {
  let end = at + 1;
  while (end < lines.length && !beginsBlock(lines[end] ?? "", depth)) end += 1;
  return [{ is: "paragraph", inside: parseInline(lines.slice(at, end).join("\n")) }, end];
}

function beginsBlock(line: string, depth: number): boolean {
  const isNested = depth < DEEPEST && (/^ {0,3}>/.test(line) || ITEM.test(line));
  return !line.trim() || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || isNested;
}

const MARKS: readonly (readonly [string, "strong" | "em" | "del"])[] = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "del"],
  ["*", "em"],
  ["_", "em"],
];
const SPECIAL = /[\\`*_~![]|https?:\/\//g;
const ADDRESS = /https?:\/\/[^\s<>"`]+/y;
const LONGEST_LINK = 4096;

/** Return the pieces of a line. */
export function parseInline(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  const unclosed = new Set<string>(); // marks without an end, so that nothing searches for one twice
  let plain = "";
  let at = 0;
  const put = (piece: Inline, next: number) => {
    if (plain) found.push({ is: "text", text: plain });
    plain = "";
    found.push(piece);
    at = next;
  };
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text);
    const start = special?.index ?? text.length;
    plain += text.slice(at, start);
    at = start;
    if (!special) break;
    const piece = depth < DEEPEST ? pieceAt(text, at, depth, unclosed) : undefined;
    if (piece) put(...piece);
    else {
      const isEscape = special[0] === "\\" && /[!-/:-@[-`{-~]/.test(text.charAt(at + 1));
      plain += isEscape ? text.charAt(at + 1) : text.charAt(at);
      at += isEscape ? 2 : 1;
    }
  }
  if (plain) found.push({ is: "text", text: plain });
  return found;
}

function pieceAt(text: string, at: number, depth: number, unclosed: Set<string>): [Inline, number] | undefined {
  const character = text.charAt(at);
  if (character === "`") return codeSpan(text, at, unclosed);
  if (character === "!" && text.charAt(at + 1) === "[") return bracket(text, at + 1, depth, true);
  if (character === "[") return bracket(text, at, depth, false);
  if (character === "h") return address(text, at);
  return emphasis(text, at, depth, unclosed);
}

function codeSpan(text: string, at: number, unclosed: Set<string>): [Inline, number] | undefined {
  const ticks = /^`+/.exec(text.slice(at, at + 32))?.[0] ?? "`";
  const end = unclosed.has(ticks) ? -1 : text.indexOf(ticks, at + ticks.length);
  if (end < 0) {
    unclosed.add(ticks);
    return undefined;
  }
  return [{ is: "code", text: text.slice(at + ticks.length, end) }, end + ticks.length];
}

function bracket(text: string, at: number, depth: number, isImage: boolean): [Inline, number] | undefined {
  const near = text.slice(at, at + LONGEST_LINK);
  const match = /^\[([^[\]]*)\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+"[^"]*")?\s*\)/.exec(near);
  if (!match) return undefined;
  const [whole, label = "", href = ""] = match;
  const next = at + whole.length;
  if (isImage) return [{ is: "image", href, alt: label }, next];
  return [{ is: "link", href, inside: parseInline(label, depth + 1) }, next];
}

function address(text: string, at: number): [Inline, number] | undefined {
  ADDRESS.lastIndex = at;
  const found = ADDRESS.exec(text)?.[0].replace(/[.,;:!?)\]*_~'"]+$/, "");
  if (!found) return undefined;
  return [{ is: "link", href: found, inside: [{ is: "text", text: found }] }, at + found.length];
}

function emphasis(text: string, at: number, depth: number, unclosed: Set<string>): [Inline, number] | undefined {
  for (const [mark, is] of MARKS) {
    if (!text.startsWith(mark, at) || unclosed.has(mark)) continue;
    const isInWord = mark.startsWith("_") && /\w/.test(text.charAt(at - 1));
    if (isInWord || /\s/.test(text.charAt(at + mark.length))) continue;
    const end = text.indexOf(mark, at + mark.length + 1);
    if (end < 0) unclosed.add(mark);
    else if (!/\s/.test(text.charAt(end - 1))) {
      return [{ is, inside: parseInline(text.slice(at + mark.length, end), depth + 1) }, end + mark.length];
    }
  }
  return undefined;
}
