/** The chain of a response: those before it, itself, and those that continue it; forks stand aside. */
import type { Details, Summary } from "../../api/types.ts";
import { clock, exact, plural } from "../../parts/format.ts";
import { Link } from "../../parts/router.tsx";

/** One place of the chain. */
export interface Place {
  summary: Summary;
  is: "before" | "here" | "next" | "fork";
}

/** Return the places in order. Of several that continue the response, the first to start continues the chain. */
export function placesOf({ parents, summary, children }: Details): Place[] {
  const [first, ...others] = [...children].sort((a, b) => a.started_ms - b.started_ms);
  return [
    ...parents.map((each): Place => ({ summary: each, is: "before" })),
    { summary, is: "here" },
    ...others.map((each): Place => ({ summary: each, is: "fork" })),
    ...(first ? [{ summary: first, is: "next" } as const] : []),
  ];
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
            <i class="o" />
            {is === "here" ? (
              <span class="cut">{labelOf(summary)}</span>
            ) : (
              <Link to={`r/${summary.id}`} class="cut">
                {is === "fork" && summary.model !== details.summary.model && `${summary.model}: `}
                {labelOf(summary)}
              </Link>
            )}
            <small class="muted num" title={exact(summary.started_ms)}>
              {clock(summary.started_ms).replace(/:\d\d$/, "")}
            </small>
          </li>
        ))}
      </ol>
    </section>
  );
}

function labelOf(summary: Summary): string {
  return summary.input || summary.id;
}
