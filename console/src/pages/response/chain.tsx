/** The chain of a response: those before it, itself, and those that continue it; forks stand aside. */
import type { Details, Summary } from "../../api/types.ts";
import { clock, exact, plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { comparePath } from "../../parts/paths.ts";
import { Link } from "../../parts/router.tsx";
import "./chain.css";

/** One place of the chain. */
export interface Place {
  summary: Summary;
  is: "before" | "here" | "next" | "fork";
}

/**
 * Return the places in order: of several that continue a response, the first to start continues the chain. Other
 * responses to the parent are forks as well, wherever the reader is.
 */
export function placesOf({ parents, summary, children, siblings }: Details): Place[] {
  const [first, ...others] = byStart(children);
  return [
    ...parents.map((each): Place => ({ summary: each, is: "before" })),
    ...byStart(siblings).map((each): Place => ({ summary: each, is: "fork" })),
    { summary, is: "here" },
    ...others.map((each): Place => ({ summary: each, is: "fork" })),
    ...(first ? [{ summary: first, is: "next" } as const] : []),
  ];
}

/** Return the ID of the response that a fork was made of: the first that continued the same parent before it. */
export function originalOf({ summary, siblings }: Details): string | undefined {
  return byStart(siblings).find(({ started_ms }) => started_ms < summary.started_ms)?.id;
}

function byStart(responses: readonly Summary[]): Summary[] {
  return [...responses].sort((a, b) => a.started_ms - b.started_ms);
}

/** The chain as a list of links. */
export function Chain({ details }: { details: Details }) {
  const places = placesOf(details);
  if (places.length === 1) return null;
  const forks = places.filter(({ is }) => is === "fork").length;
  return (
    <section class="sheet" aria-label="Chain">
      <div class="head">
        <h2>Chain</h2>
        <span class="muted small push">
          {plural(places.length, "response")}
          {forks > 0 && `, ${plural(forks, "fork")}`}
        </span>
      </div>
      <ol class="chain">
        {places.map(({ summary, is }) => (
          <li key={summary.id} class={is}>
            <i class="chain-dot" />
            {is === "here" ? (
              <span class="cut">{labelOf(summary)}</span>
            ) : (
              <Link to={`r/${summary.id}`} class="cut">
                {is === "fork" && summary.model !== details.summary.model && `${summary.model}: `}
                {labelOf(summary)}
              </Link>
            )}
            <small class="muted num" title={exact(summary.started_ms)}>
              {clock(summary.started_ms)}
            </small>
            {is !== "here" && <CompareLink one={details.summary} other={summary} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Leads to the comparison; what began first is on the left. */
function CompareLink({ one, other }: { one: Summary; other: Summary }) {
  const [a, b] = byStart([one, other]).map(({ id }) => id);
  return (
    <Link
      to={comparePath(a ?? "", b ?? "")}
      class="btn bare icon chain-compare"
      label={`Compare with ${labelOf(other)}`}
      title="Compare with this response"
    >
      <Icon name="compare" />
    </Link>
  );
}

function labelOf(summary: Summary): string {
  return summary.input || summary.id;
}
