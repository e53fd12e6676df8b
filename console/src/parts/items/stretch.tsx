/** A stretch of a long list of items: only its items are rendered, with the ways to the others. */
import { useSignal } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Item } from "../../api/types.ts";
import { count } from "../format.ts";
import "./stretch.css";

/** Items that are added at once. */
export const STEP = 30;
/** Items that are rendered at most; those at the other end make room. */
export const MOST_RENDERED = 90;

/** Where a move of the reader leads. */
export type Move = "start" | "earlier" | "later" | "end";

/** The items of the stretch, what is around it, and how to move it. */
export interface Stretch {
  items: readonly Item[];
  /** The place of the first item in the list, from 0, and the length of the list, where they are known. */
  place?: { first: number; total: number };
  hasEarlier: boolean;
  hasLater: boolean;
  move: (to: Move) => void;
}

/** The stretch of a list that is loaded, at first its end. */
export function useStretch(all: readonly Item[]): Stretch {
  const chosen = useSignal<{ from: number; to: number } | undefined>(undefined);
  const total = all.length;
  const { from, to } = chosen.value ?? { from: Math.max(0, total - STEP), to: total };
  const moves: Record<Move, () => { from: number; to: number }> = {
    start: () => ({ from: 0, to: Math.min(STEP, total) }),
    end: () => ({ from: Math.max(0, total - STEP), to: total }),
    earlier: () => {
      const start = Math.max(0, from - STEP);
      return { from: start, to: Math.min(to, start + MOST_RENDERED) };
    },
    later: () => {
      const end = Math.min(total, to + STEP);
      return { from: Math.max(from, end - MOST_RENDERED), to: end };
    },
  };
  return {
    items: all.slice(from, to),
    place: { first: from, total },
    hasEarlier: from > 0,
    hasLater: to < total,
    move: (next) => {
      chosen.value = moves[next]();
    },
  };
}

interface Props {
  stretch: Stretch;
  /** Whether the end is scrolled into view when the list is first shown. */
  opensAtEnd?: boolean;
  children: (item: Item) => ComponentChildren;
}

/** The items, between the buttons that lead to the others. */
export function StretchView({ stretch, opensAtEnd, children }: Props) {
  const { items, place, hasEarlier, hasLater, move } = stretch;
  const list = useRef<HTMLDivElement>(null);
  const next = useRef<{ to: Move; anchor?: Element | undefined; top: number } | undefined>(
    opensAtEnd ? { to: "end", top: 0 } : undefined,
  );
  const go = (to: Move) => () => {
    const anchor = (to === "earlier" ? list.current?.firstElementChild : list.current?.lastElementChild) ?? undefined;
    next.current = { to, anchor, top: anchor?.getBoundingClientRect().top ?? 0 };
    move(to);
  };
  // What the reader looks at stays where it is while items are added above it, and removed below.
  useLayoutEffect(() => {
    const moved = next.current;
    if (!moved || items.length === 0) return;
    next.current = undefined;
    if (moved.to === "start") list.current?.firstElementChild?.scrollIntoView({ block: "center" });
    else if (moved.to === "end") list.current?.lastElementChild?.scrollIntoView({ block: "end" });
    else if (moved.anchor?.isConnected) scrollBy(0, moved.anchor.getBoundingClientRect().top - moved.top);
  }, [items]);
  if (!hasEarlier && !hasLater && items.length < STEP)
    return (
      <div ref={list} class="stretch">
        {rendered(items, place, children)}
      </div>
    );
  const button = (to: Move, text: string) => (
    <button type="button" class="btn" onClick={go(to)}>
      {text}
    </button>
  );
  return (
    <>
      <div class="stretch-row">
        {hasEarlier && button("start", "Go to the start")}
        {hasEarlier && button("earlier", "Show earlier items")}
        {place && (
          <span class="muted small num">
            {count(place.first + 1)} to {count(place.first + items.length)} of {count(place.total)} items
          </span>
        )}
        <span class="push" />
        {button("end", "Go to the end")}
      </div>
      <div ref={list} class="stretch">
        {rendered(items, place, children)}
      </div>
      <div class="stretch-row">
        {button("start", "Back to the start")}
        {hasLater && button("later", "Show later items")}
        <span class="push" />
        {hasLater && button("end", "Go to the newest item")}
      </div>
    </>
  );
}

function rendered(items: readonly Item[], place: Stretch["place"], children: Props["children"]) {
  return items.map((item, at) => <Fragment key={place ? place.first + at : item.id}>{children(item)}</Fragment>);
}
