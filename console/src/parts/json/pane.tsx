/** A pane that shows a JSON value: unfold and fold, search, copy, and the full width of the page. */
import { type Signal, signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { copy } from "../copy.ts";
import { bytes, count } from "../format.ts";
import { Icon, type IconName } from "../icons.tsx";
import { visible } from "../raw.tsx";
import "./json.css";
import {
  extended,
  keyOf,
  type Line,
  linesOf,
  MOST_LINES,
  revealed,
  sizeOf,
  toggled,
  unfolded,
  type Views,
} from "./lines.ts";
import { Scalar } from "./scalar.tsx";
import { type Found, MOST_FOUND, search } from "./search.ts";

const PREVIEW = ["type", "role", "name", "code", "id"] as const; // what distinguishes objects of an array

interface Props {
  title: string;
  /** Where the value is from; its size is added. */
  note?: string;
  value: unknown;
  /** Controls of the owner, after the title. */
  children?: ComponentChildren;
}

/** The place of a search in a value. */
interface Search {
  text: string;
  found: readonly Found[];
  at: number;
}

/** The value with its tools. */
export function JsonPane({ title, note, value, children }: Props) {
  const { views, lookup } = useMemo(() => stateOf(value), [value]);
  const size = useMemo(() => bytes(new TextEncoder().encode(JSON.stringify(value)).length), [value]);
  const isWide = useSignal(false);
  const isFolded = views.value.size <= 1;
  return (
    <div class={isWide.value ? "json-pane wide-pane" : "json-pane"}>
      <div class="json-head">
        <h3>
          {title}
          {children}
        </h3>
        <small>{[note, size].filter(Boolean).join(", ")}</small>
        <span class="json-buttons">
          <Tool
            icon="search"
            label={`Search ${title}`}
            isOn={lookup.value !== undefined}
            run={() => (lookup.value = lookup.value ? undefined : { text: "", found: [], at: 0 })}
          />
          <Tool
            icon={isFolded ? "unfold" : "fold"}
            label={`${isFolded ? "Unfold" : "Fold"} ${title}`}
            run={() => (views.value = unfolded(value, isFolded ? MOST_LINES : 0))}
          />
          <Tool icon="copy" label={`Copy ${title}`} run={() => copy(JSON.stringify(value, null, 2), title)} />
          <Tool
            icon="widen"
            label={`Full width: ${title}`}
            isOn={isWide.value}
            run={() => (isWide.value = !isWide.value)}
          />
        </span>
      </div>
      {lookup.value && <SearchRow title={title} value={value} lookup={lookup} views={views} />}
      <Lines title={title} value={value} views={views} search={lookup.value} />
    </div>
  );
}

function stateOf(value: unknown) {
  return { views: signal(unfolded(value)), lookup: signal<Search | undefined>(undefined) };
}

interface ToolProps {
  icon: IconName;
  label: string;
  isOn?: boolean;
  run: () => void;
}

function Tool({ icon, label, isOn, run }: ToolProps) {
  return (
    <button type="button" class="json-tool" aria-label={label} title={label} aria-pressed={isOn} onClick={run}>
      <Icon name={icon} />
    </button>
  );
}

interface SearchProps {
  title: string;
  value: unknown;
  lookup: Signal<Search | undefined>;
  views: Signal<Views>;
}

function SearchRow({ title, value, lookup, views }: SearchProps) {
  const { text, found, at } = lookup.value ?? { text: "", found: [], at: 0 };
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const show = (next: Search) => {
    lookup.value = next;
    const place = next.found[next.at];
    if (place) views.value = revealed(views.value, value, place.path);
  };
  const step = (by: number) => show({ text, found, at: (at + by + found.length) % Math.max(1, found.length) });
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") lookup.value = undefined;
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="json-search">
      <input
        ref={field}
        class="input"
        type="search"
        aria-label={`Search in ${title}`}
        placeholder="Names and values"
        value={text}
        onInput={({ currentTarget }) =>
          show({ text: currentTarget.value, found: search(value, currentTarget.value), at: 0 })
        }
        onKeyDown={key}
      />
      <span class="muted small num" role="status">
        {text && (found.length === 0 ? "Not found" : `${count(at + 1)} of ${countOf(found)}`)}
      </span>
      <Tool icon="left" label="Previous place" run={() => step(-1)} />
      <Tool icon="right" label="Next place" run={() => step(1)} />
    </div>
  );
}

function countOf(found: readonly Found[]): string {
  return found.length < MOST_FOUND ? count(found.length) : `${count(MOST_FOUND)} or more`;
}

interface LinesProps {
  title: string;
  value: unknown;
  views: Signal<Views>;
  search: Search | undefined;
}

function Lines({ title, value, views, search: lookup }: LinesProps) {
  const lines = useMemo(() => linesOf(value, views.value), [value, views.value]);
  const place = lookup?.found[lookup.at];
  const here = place && keyOf(place.path);
  const region = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each place that is found scrolls into view.
  useEffect(() => {
    const inner = region.current?.querySelector(".json-here");
    if (inner && region.current) region.current.scrollTop += distance(inner, region.current);
  }, [lookup]);
  return (
    <div class="json-lines" ref={region} tabIndex={0} role="region" aria-label={title}>
      {lines.map((line) => (
        <LineView
          key={`${line.is === "folded" ? "open" : line.is}${line.path}`}
          line={line}
          found={
            place && line.path === here && (line.is === "value" || line.is === "open" || line.is === "folded")
              ? { at: place.at, length: lookup?.text.length ?? 0 }
              : undefined
          }
          views={views}
        />
      ))}
    </div>
  );
}

/** How far an element is from the middle of what scrolls it. */
function distance(inner: Element, outer: Element): number {
  return inner.getBoundingClientRect().top - outer.getBoundingClientRect().top - outer.clientHeight / 2;
}

interface LineProps {
  line: Line;
  found: { at: number; length: number } | undefined;
  views: Signal<Views>;
}

function LineView({ line, found, views }: LineProps) {
  const { is, depth, path, name, value, hasComma } = line;
  const isFold = is === "open" || is === "folded";
  const toggle = () => (views.value = toggled(views.value, path, value));
  return (
    <div class={found ? "json-line json-here" : "json-line"} style={{ "--d": String(depth) }}>
      {isFold && (
        <button
          type="button"
          class="json-fold"
          aria-expanded={is === "open"}
          aria-label={name ?? (path.split("/").at(-1) || "All")}
          onClick={toggle}
        >
          <Icon name={is === "open" ? "down" : "right"} />
        </button>
      )}
      {name !== undefined && (
        <>
          <span class={found && found.at < 0 ? "code-key json-hit" : "code-key"}>{visible(JSON.stringify(name))}</span>:{" "}
        </>
      )}
      {is === "value" && <Scalar value={value} found={found && found.at >= 0 ? found : undefined} />}
      {is === "open" && (Array.isArray(value) ? "[" : "{")}
      {is === "close" && (Array.isArray(value) ? "]" : "}")}
      {is === "folded" && <Folded value={value} />}
      {(is === "earlier" || is === "later") && (
        <button type="button" class="json-more" onClick={() => (views.value = extended(views.value, line))}>
          {moreOf(line, views.value)}
        </button>
      )}
      {hasComma && is !== "open" && ","}
    </div>
  );
}

/** A folded object or array: its brackets, what distinguishes it, and how much is inside. */
function Folded({ value }: { value: unknown }) {
  const size = count(sizeOf(value));
  if (Array.isArray(value)) return <span class="json-inside">[ {size} ]</span>;
  const known = value as Record<string, unknown>;
  const names = PREVIEW.filter((name) => Object.hasOwn(known, name) && typeof known[name] === "string");
  const words = names.slice(0, 2).map((name) => String(known[name]).slice(0, 40));
  return (
    <span class="json-inside">
      {"{ "}
      {words.length > 0 ? visible(words.join(", ")) : size}
      {" }"}
    </span>
  );
}

function moreOf({ is, path, value }: Line, views: Views): string {
  const { from, to } = views.get(path) ?? { from: 0, to: 0 };
  return is === "earlier" ? `Show earlier (${count(from)})` : `Show more (${count(sizeOf(value) - to)})`;
}
