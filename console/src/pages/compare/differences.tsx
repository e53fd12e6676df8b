/** The differences of two responses: an overview that leads to each part, and the parts. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { ErrorNotice } from "../../parts/errors.tsx";
import { count, plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { ChangeView } from "./change.tsx";
import { MOST_CHANGES } from "./json_diff.ts";
import { type Content, type Part, partsOf } from "./parts.ts";
import type { Side } from "./side.ts";

const FEW_CHANGES = 20; // that are shown at first

/** Of the parts that both sides have, and why others are missing. */
export function Differences({ left, right }: { left: Side; right: Side }) {
  const isLoading = [left, right].some(({ request, body, calls }) =>
    [request, body, calls].some(({ data, error }) => data === undefined && error === undefined),
  );
  const sides = [left, right].flatMap(({ request, body, calls }) => [request.data, body.data, calls.data]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `sides` is all that the parts are made of.
  const parts = useMemo(() => (isLoading ? [] : partsOf(contentOf(left), contentOf(right))), [isLoading, ...sides]);
  return (
    <>
      <Missing name="A" side={left} />
      <Missing name="B" side={right} />
      {isLoading ? <p class="loading muted">Loading…</p> : <Overview parts={parts} />}
      {parts.map((part) => (
        <PartView key={part.name} part={part} />
      ))}
      {parts.length > 0 && <p class="muted small compare-note">IDs of items and calls are not compared.</p>}
    </>
  );
}

function contentOf({ request, body, calls }: Side): Content {
  return { request: request.data, output: body.data?.output, calls: calls.data };
}

/** Why content of a side is missing: each reason once. */
function Missing({ name, side }: { name: string; side: Side }) {
  const loads = [side.request, side.body, side.calls].filter(({ error }) => error !== undefined);
  const reasons = new Map(loads.map((each) => [String((each.error as Error).message), each]));
  return (
    <>
      {[...reasons.values()].map((each, at) => (
        <div key={at} class="compare-missing">
          <span class="compare-letter">{name}</span>
          <ErrorNotice error={each.error} onRetry={side.retry} />
        </div>
      ))}
    </>
  );
}

/** What differs at a glance; a press leads to the part. */
function Overview({ parts }: { parts: readonly Part[] }) {
  return (
    <nav class="compare-overview" aria-label="Parts of the comparison">
      {parts.map((part) => (
        <button type="button" key={part.name} class="btn" onClick={() => goTo(idOf(part))}>
          {part.name}
          <span class={tagOf(part)}>{wordsOf(part)}</span>
        </button>
      ))}
      <button type="button" class="btn" onClick={() => goTo("compare-facts")}>
        Facts
      </button>
      <button type="button" class="btn" onClick={() => goTo("compare-timelines")}>
        Timelines
      </button>
    </nav>
  );
}

function goTo(id: string): void {
  const place = document.getElementById(id);
  if (place instanceof HTMLDetailsElement) place.open = true;
  (place?.querySelector("summary") ?? place)?.focus({ preventScroll: true });
  place?.scrollIntoView({ block: "start" });
}

function PartView({ part }: { part: Part }) {
  const { changes, isCut } = part.diff;
  const isWhole = useSignal(false);
  const isSame = changes.length === 0;
  const displayed = isWhole.value ? changes : changes.slice(0, FEW_CHANGES);
  return (
    <details class="sheet compare-part" id={idOf(part)} open={!isSame && part.name !== "Requests to backends"}>
      <summary>
        <Icon name="right" />
        <h2>{part.name}</h2>
        <span class={tagOf(part)}>{wordsOf(part)}</span>
      </summary>
      {isSame && <p class="pad muted">Both sides are equal.</p>}
      {isCut && <p class="pad muted">These are too large, or differ too much, to show each difference.</p>}
      <ol>
        {displayed.map((change, at) => (
          <ChangeView key={at} change={change} />
        ))}
      </ol>
      {displayed.length < changes.length && (
        <div class="more-rows">
          <button type="button" class="btn" onClick={() => (isWhole.value = true)}>
            Show {count(changes.length - displayed.length)} more differences
          </button>
        </div>
      )}
    </details>
  );
}

function idOf({ name }: Part): string {
  return `compare-${name.toLowerCase().replaceAll(" ", "-")}`;
}

function tagOf({ diff }: Part): string {
  return diff.changes.length === 0 ? "tag" : "tag accent";
}

function wordsOf({ diff: { changes, isCut } }: Part): string {
  if (changes.length === 0) return "equal";
  if (isCut && changes.length >= MOST_CHANGES) return `more than ${count(MOST_CHANGES)} differences`;
  return plural(changes.length, "difference");
}
