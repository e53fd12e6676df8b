/** One lane on the page. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Json } from "../../api/types.ts";
import { count, duration } from "../../parts/format.ts";
import type { Bench } from "./bench.ts";
import { HistoryView } from "./history_view.tsx";
import type { Lane } from "./lane.ts";
import type { TurnState } from "./turn.ts";
import { TurnView } from "./turn_view.tsx";
import "./lane_view.css";

const NEAR = 80; // px from the end, within which the lane follows its text
const BAR = 60; // px that the navigation of a phone covers

interface Props {
  bench: Bench;
  lane: Lane;
  isAlone: boolean;
  format: Json | undefined;
}

/** The conversation of a lane, and its facts where several stand side by side. */
export function LaneView({ bench, lane, isAlone, format }: Props) {
  const turns = lane.turns.value;
  const history = bench.history.value;
  const isEmpty = turns.length === 0 && history.length === 0;
  return (
    <Followed label={`Conversation with ${nameOf(lane)}`} turns={turns.length}>
      {!isAlone && <Head lane={lane} />}
      <div class="talk">
        {isEmpty && <p class="muted">Write a message below. The request next to it is sent exactly as shown.</p>}
        <HistoryView key={history.length} items={history} place={lane.place} />
        {turns.map((turn, at) => (
          <TurnView
            key={turn.key}
            bench={bench}
            lane={lane}
            turn={turn}
            isLast={at === turns.length - 1}
            format={format}
          />
        ))}
      </div>
    </Followed>
  );
}

/** A box that stays at its end while its content grows, unless the reader scrolled up since the newest of its turns. */
function Followed({ label, turns, children }: { label: string; turns: number; children: ComponentChildren }) {
  const box = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a message that is sent is at the end.
  useEffect(() => {
    isAtEnd.current = true;
  }, [turns]);
  useEffect(() => {
    const lane = box.current;
    const talk = lane?.querySelector(".talk");
    if (!lane || !talk) return;
    let before = 0;
    const measure = () => {
      const place = lane.scrollTop + scrollY;
      if (restOf(lane) < NEAR) isAtEnd.current = true;
      else if (place < before) isAtEnd.current = false; // a text that grew also has a rest
      before = place;
    };
    const observer = new ResizeObserver(() => {
      if (!isAtEnd.current || !talk.querySelector(".lane-turn")) return;
      if (isScrolled(lane)) lane.scrollTop = lane.scrollHeight;
      else scrollBy(0, restOf(lane));
    });
    observer.observe(talk);
    lane.addEventListener("scroll", measure);
    addEventListener("scroll", measure);
    return () => {
      observer.disconnect();
      removeEventListener("scroll", measure);
    };
  }, []);
  return (
    <section class="lane" ref={box} aria-label={label}>
      {children}
    </section>
  );
}

/** Whether the lane scrolls, as on a wide screen, and not the page. */
function isScrolled(lane: Element): boolean {
  return lane.scrollHeight > lane.clientHeight;
}

/** Return how far the end of a lane is below the window, in px. */
function restOf(lane: Element): number {
  if (isScrolled(lane)) return lane.scrollHeight - lane.scrollTop - lane.clientHeight;
  const stage = lane.closest(".stage");
  return stage ? Math.max(0, stage.getBoundingClientRect().bottom + BAR - innerHeight) : 0;
}

function Head({ lane }: { lane: Lane }) {
  const state = lane.last?.state.value;
  return (
    <div class="head">
      <h2 class="cut">{nameOf(lane)}</h2>
      <span class="muted small num push">{state && factsOf(state)}</span>
    </div>
  );
}

function nameOf({ model }: Lane): string {
  return model || "the model of the prompt";
}

/** Return the times and tokens of a turn in a few words. */
function factsOf({ firstMs, totalMs, usage }: TurnState): string {
  const parts = [
    firstMs !== null && `first ${duration(firstMs)}`,
    totalMs !== null && duration(totalMs),
    usage && `${count(usage.output_tokens)} tokens`,
  ];
  return parts.filter(Boolean).join(" · ");
}
