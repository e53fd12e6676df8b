/** A JSON value as lines: only what is unfolded becomes lines, so a value of any size costs little. */

/** The children that an unfolded object or array shows: from one index to another, which is excluded. */
export interface View {
  from: number;
  to: number;
}

/** The unfolded objects and arrays, by their paths. */
export type Views = ReadonlyMap<string, View>;

/** The names and indexes that lead to a value. */
export type Path = readonly string[];

/** One line. `path` is that of the value, or of the object or array that the line belongs to. */
export interface Line {
  is: "open" | "folded" | "close" | "value" | "earlier" | "later";
  depth: number;
  path: string;
  /** The property's name; undefined in arrays, at the root, and at the end of an object. */
  name: string | undefined;
  value: unknown;
  hasComma: boolean;
}

/** Children of one object or array that are shown at once, until the reader wants more. */
export const CHUNK = 50;
const FEW_LINES = 150; // that are unfolded at first
/** Lines that "Unfold all" shows at most. */
export const MOST_LINES = 2_000;
const BEFORE = 5; // children before one that is revealed

/** Return the key of a path, a JSON pointer (RFC 6901). */
export function keyOf(path: Path): string {
  return path.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Return the number of children; 0 of what has none. */
export function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}

/** Return the lines of a value. */
export function linesOf(value: unknown, views: Views): Line[] {
  const lines: Line[] = [];
  add(lines, value, { path: "", name: undefined, depth: 0, hasComma: false }, views);
  return lines;
}

function add(lines: Line[], value: unknown, place: Omit<Line, "is" | "value">, views: Views): void {
  const size = sizeOf(value);
  const view = views.get(place.path);
  if (size === 0 || !view) {
    lines.push({ ...place, is: size === 0 ? "value" : "folded", value });
    return;
  }
  const { path, depth } = place;
  const inner = { path, name: undefined, depth: depth + 1, hasComma: false, value };
  lines.push({ ...place, is: "open", value, hasComma: false });
  if (view.from > 0) lines.push({ ...inner, is: "earlier" });
  for (const [name, child, at] of childrenOf(value, view)) {
    const label = Array.isArray(value) ? undefined : name;
    const here = { path: path + keyOf([name]), name: label, depth: depth + 1, hasComma: at < size - 1 };
    add(lines, child, here, views);
  }
  if (view.to < size) lines.push({ ...inner, is: "later" });
  lines.push({ ...place, is: "close", value, name: undefined });
}

function childrenOf(value: unknown, { from, to }: View): [string, unknown, number][] {
  if (Array.isArray(value)) return value.slice(from, to).map((child, at) => [String(from + at), child, from + at]);
  const all = value as Record<string, unknown>;
  return Object.keys(all)
    .slice(from, to)
    .map((name, at) => [name, all[name], from + at]);
}

/** Unfold a value level by level, until it has about so many lines; what has no room stays folded. */
export function unfolded(value: unknown, most = FEW_LINES): Views {
  const views = new Map<string, View>();
  const queue: [string, unknown][] = [["", value]];
  let left = most;
  for (const [path, each] of queue) {
    const size = sizeOf(each);
    const to = Math.min(size, CHUNK);
    if (size === 0 || (path !== "" && to > left)) continue;
    left -= to;
    views.set(path, { from: 0, to });
    for (const [name, child] of childrenOf(each, { from: 0, to })) queue.push([path + keyOf([name]), child]);
  }
  return views;
}

/** Return the views with one object or array folded or unfolded. */
export function toggled(views: Views, path: string, value: unknown): Views {
  const next = new Map(views);
  if (!next.delete(path)) next.set(path, { from: 0, to: Math.min(sizeOf(value), CHUNK) });
  return next;
}

/** Return the views with more children of an unfolded object or array. */
export function extended(views: Views, { path, value, is }: Line): Views {
  const view = views.get(path) ?? { from: 0, to: 0 };
  const { from, to } = view;
  const wider =
    is === "earlier" ? { from: Math.max(0, from - CHUNK), to } : { from, to: Math.min(sizeOf(value), to + CHUNK) };
  return new Map(views).set(path, wider);
}

/** Return the views with everything unfolded that leads to a path. */
export function revealed(views: Views, value: unknown, path: Path): Views {
  const next = new Map(views);
  let inside: unknown = value;
  for (const [depth, name] of path.entries()) {
    const key = keyOf(path.slice(0, depth));
    const at = Array.isArray(inside) ? Number(name) : Object.keys(inside as object).indexOf(name);
    const view = next.get(key) ?? { from: 0, to: Math.min(sizeOf(inside), CHUNK) };
    const from = Math.max(0, at - BEFORE);
    const isInside = at >= view.from && at < view.to;
    next.set(key, isInside ? view : { from, to: Math.min(sizeOf(inside), from + CHUNK) });
    inside = (inside as Record<string, unknown>)[name];
  }
  return next;
}
