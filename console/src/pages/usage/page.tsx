/** Usage and cost of responses over time, by model, key, tenant or backend, with budgets, and as CSV. */
import { serverNow } from "../../api/clock.ts";
import { loadKeys } from "../../api/keys.ts";
import { session } from "../../api/session.ts";
import type { Figures } from "../../api/types.ts";
import { save, toCsv } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { clock, compact, count, minute, percent, plural } from "../../parts/format.ts";
import { useKeyNames } from "../../parts/key_names.ts";
import { useLoad } from "../../parts/load.ts";
import { visible } from "../../parts/raw.tsx";
import { query } from "../../parts/router.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Top } from "../../parts/top.tsx";
import { ViewsMenu } from "../../parts/views.tsx";
import { wallClock, zoneName } from "../../parts/zone.ts";
import { Chart } from "./chart.tsx";
import {
  type By,
  budgetsOf,
  cellsOf,
  chargedFrom,
  costOf,
  DAY,
  loadBefore,
  loadCharges,
  loadFigures,
  type Measure,
  type UsageRow,
} from "./data.ts";
import { Groups, Steps } from "./groups.tsx";
import { TimeMenu } from "./time_menu.tsx";
import { choose, GROUPS, groupsOf, MEASURES, pathWith, viewOf } from "./view.ts";
import "./page.css";

/** The page; the address has all that was chosen. */
export function UsagePage() {
  const view = viewOf(query.value, session(), serverNow());
  const { q, by, measure, period } = view;
  const inputs = [q, by, period.since, period.until];
  const loaded = useLoad(
    async (signal) => ({ q, by, found: await loadFigures(period, by, q, signal) }),
    [...inputs, period.step],
  );
  const isSpeed = measure === "speed";
  const before = useLoad(
    async (signal) => (isSpeed ? loadBefore(period, by, q, signal) : undefined),
    [...inputs, isSpeed],
  );
  const charges = useLoad((signal) => loadCharges(period.since, signal), [period.since]);
  const keys = useLoad(async (signal) => (by === "key" ? loadKeys(signal) : []), [by]);
  const budgets = q ? [] : budgetsOf(keys.data ?? [], charges.data ?? [], serverNow());
  const error = loaded.error ?? before.error ?? charges.error ?? keys.error;
  const retry = () => [loaded, before, charges, keys].map(({ reload }) => reload());
  const displayed = loaded.data; // what was loaded before stays until the rest is there
  const found = displayed?.found;
  const shared = displayed && { ...displayed, measure };
  return (
    <>
      <Top title="Usage and cost">
        <span class="push" />
        <TimeMenu view={view} />
        <ViewsMenu page="usage" path="usage" query={query.value.toString()} />
        <button type="button" class="btn" disabled={!displayed} onClick={() => displayed && exportFile(displayed)}>
          Export CSV
        </button>
      </Top>
      {error !== undefined && <ErrorNotice error={error} onRetry={retry} />}
      <section class="sheet usage-totals" aria-label="Totals">
        <Totals found={found} />
        {q && <Filter q={q} />}
      </section>
      <section class="sheet usage-groups" aria-label="Groups">
        <Tabs
          label="Group by"
          tabs={groupsOf(session()).map((key) => ({ key, name: GROUPS[key] }))}
          chosen={by}
          onChoose={(key) => choose({ by: key })}
          aside={<Measures chosen={measure} />}
        >
          {shared && !isSpeed && (
            <Chart {...shared} budgets={budgets.filter((each) => each.period === "day" && period.step === DAY)} />
          )}
          {shared && <Groups {...shared} budgets={budgets} before={before.data} pathWith={pathWith} />}
          {shared && shared.found.buckets.length > 0 && <Steps {...shared} />}
          {found?.totals.responses === 0 && (
            <div class="empty">
              <h2>No responses in this time</h2>
              <p>Ended responses are counted here. Costs need prices in antiphon.toml.</p>
            </div>
          )}
        </Tabs>
      </section>
      {displayed && <Notes {...displayed} charges={q ? undefined : charges.data} isSpeed={isSpeed} />}
    </>
  );
}

function exportFile({ by, found }: { by: By; found: Figures }): void {
  const [since, until] = [found.since, found.until].map((each) => wallClock(each * 1000).slice(0, 10));
  save(`usage-${by}-${since}-${until}.csv`, toCsv(cellsOf(by, found, session().currency)), "text/csv");
}

/** The filters of the page besides its time. */
function Filter({ q }: { q: string }) {
  const named = useKeyNames(q);
  return (
    <p class="usage-filter">
      <span>
        Only <code title={q}>{visible(named(q))}</code>
      </span>
      <button type="button" class="btn" onClick={() => choose({ q: "" })}>
        Show all
      </button>
    </p>
  );
}

function Measures({ chosen }: { chosen: Measure }) {
  return (
    <div class="segments usage-measures" role="group" aria-label="Measure">
      {Object.entries(MEASURES).map(([each, name]) => (
        <button type="button" key={each} aria-pressed={each === chosen} onClick={() => choose({ measure: each })}>
          {name}
        </button>
      ))}
    </div>
  );
}

function Totals({ found }: { found: Figures | undefined }) {
  const totals = found?.totals;
  const cost = costOf(totals?.cost ?? null, session());
  const figures = totals && [
    ["Responses", compact(totals.responses), `${percent(totals.by_status.failed ?? 0, totals.responses)} failed`],
    ["Input tokens", compact(totals.input_tokens), `${percent(totals.cached_tokens, totals.input_tokens)} cached`],
    ["Output tokens", compact(totals.output_tokens), ""],
    ["Cost", cost, cost === "—" ? "no prices set" : "by your prices"],
  ];
  const names = ["Responses", "Input tokens", "Output tokens", "Cost"];
  return (
    <dl class="figures usage-figures" aria-busy={!found}>
      {(figures ?? names.map((name) => [name, "—", ""])).map(([label, value, note]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value}
            {note && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface NotesProps {
  by: By;
  found: Figures;
  charges: readonly UsageRow[] | undefined;
  isSpeed: boolean;
}

/** How responses are counted, and what keys were charged for, which has chat completions and embeddings too. */
function Notes({ by, found, charges, isSpeed }: NotesProps) {
  const charged = charges && chargedFrom(charges, found.since);
  const { complete_since: since } = found;
  const begin = minute(Math.floor(found.until / DAY) * DAY * 1000);
  return (
    <div class="muted usage-notes">
      {since !== undefined && (
        <p role="status">
          Too many responses match to read them all: the sums have those since {clock(since * 1000)}. Choose a shorter
          time.
        </p>
      )}
      {isSpeed && (
        <p>
          “before” is the time of the same length before. Only streamed responses have a first token. The output speed
          is that of streamed responses with one model call: all their output tokens, divided by all the time from the
          first token of each to its end. p50 and p95 are approximate.
        </p>
      )}
      {by === "backend" && (
        <p>
          A response counts for the backend that it called last. A failure that another backend resolved is in the
          timeline of the response.
        </p>
      )}
      <p>
        Days are in UTC, as for budgets{begin === "00:00" ? "" : `: each begins at ${begin} in ${zoneName()}`}.
        Responses that failed, were cancelled or stopped early count with the tokens that they used. If a backend
        reported no tokens, such as for a stream that broke off, Antiphon counted them in the texts; the page of such a
        response says “counted in the texts”. Responses from the cache used no tokens.
      </p>
      {charged !== undefined && charged.requests > 0 && (
        <p>
          On all endpoints, with forwarded chat completions and embeddings, API keys made{" "}
          {plural(charged.requests, "request")} with {count(charged.tokens)} tokens
          {session().has_prices ? ` for ${costOf(charged.cost, session())}` : ""} in these days. Budgets count these.
        </p>
      )}
    </div>
  );
}
