/** Usage and cost: by day, model, key and tenant, and as CSV. */
import { useSignal } from "@preact/signals";
import { session } from "../../api/session.ts";
import { save, toCsv } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { compact, count, percent } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useLoad } from "../../parts/load.ts";
import { Menu } from "../../parts/menu.tsx";
import { query, setQuery } from "../../parts/router.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Top } from "../../parts/top.tsx";
import { cellsOf, costOf, everyDay, type GroupBy, loadUsage, nameOf, totalOf, type UsageRow } from "./rows.ts";

const RANGES = [7, 30, 90] as const;
const HEIGHT = 84;

/** The page; the address has the number of days. */
export function UsagePage() {
  const days = RANGES.find((each) => String(each) === query.value.get("days")) ?? 30;
  const by = useSignal<Exclude<GroupBy, "day">>("model");
  const perDay = useLoad((signal) => loadUsage(days, "day", signal), [days]);
  const groups = useLoad((signal) => loadUsage(days, by.value, signal), [days, by.value]);
  const rows = groups.data ?? [];
  const names = { model: "Models", key: "Keys", tenant: "Tenants" } as const;
  const tabs = (session().role === "admin" ? (["model", "key", "tenant"] as const) : (["model", "key"] as const)).map(
    (key) => ({
      key,
      name: names[key],
    }),
  );
  const error = perDay.error ?? groups.error;
  return (
    <>
      <Top title="Usage and cost">
        <span class="push" />
        <Menu
          class="btn"
          label="Days"
          actions={RANGES.map((each) => ({ label: `Last ${each} days`, run: () => setQuery({ days: String(each) }) }))}
        >
          <Icon name="clock" />
          Last {days} days
          <Icon name="down" />
        </Menu>
        <button
          type="button"
          class="btn"
          onClick={() => save(`usage-${by.value}-${days}-days.csv`, toCsv(cellsOf(by.value, rows)), "text/csv")}
        >
          Export CSV
        </button>
      </Top>
      {error !== undefined && <ErrorNotice error={error} onRetry={perDay.reload} />}
      <section class="sheet overview" aria-label="Totals">
        <Totals rows={perDay.data} />
        {perDay.data && <Days rows={perDay.data} days={days} />}
      </section>
      <section class="sheet" aria-label="Groups">
        <Tabs
          label="Group by"
          tabs={tabs}
          chosen={by.value}
          onChoose={(key) => {
            by.value = key;
          }}
        >
          <Groups rows={rows} by={by.value} />
          {groups.data?.length === 0 && (
            <div class="empty">
              <h2>No usage in these days</h2>
              <p>
                Requests with an API key are counted here, by key, model and day. Costs need prices in antiphon.toml.
              </p>
              {!session().needs_key && <pre>antiphon keys create --name NAME</pre>}
            </div>
          )}
        </Tabs>
      </section>
    </>
  );
}

function Totals({ rows }: { rows: UsageRow[] | undefined }) {
  const total = totalOf(rows ?? []);
  const cost = costOf(total.cost, session());
  const figures = [
    ["Requests", compact(total.requests), ""],
    ["Input tokens", compact(total.input_tokens), `${percent(total.cached_input_tokens, total.input_tokens)} cached`],
    ["Output tokens", compact(total.output_tokens), ""],
    ["Cost", cost, cost === "—" ? "no prices set" : "by your prices"],
  ] as const;
  return (
    <dl class="figures two-columns" aria-busy={!rows}>
      {figures.map(([label, value, note]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {rows ? value : "—"}
            {rows && note && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Days({ rows, days }: { rows: UsageRow[]; days: number }) {
  const all = everyDay(rows, days, Date.now());
  const most = Math.max(1, ...all.map(({ tokens }) => tokens));
  const width = 1000 / all.length;
  return (
    <div class="histogram">
      <svg
        viewBox={`0 0 1000 ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Tokens a day, at most ${count(most)}`}
      >
        {all.map(({ date, tokens }, at) => (
          <rect
            key={date}
            class="h-completed"
            x={at * width}
            width={Math.max(1, width - 2)}
            y={HEIGHT - (tokens / most) * (HEIGHT - 4)}
            height={(tokens / most) * (HEIGHT - 4)}
          >
            <title>{`${date}: ${count(tokens)} tokens`}</title>
          </rect>
        ))}
      </svg>
      <div class="ticks" aria-hidden="true">
        <span>{all[0]?.date}</span>
        <span>tokens a day</span>
        <span>{all.at(-1)?.date}</span>
      </div>
    </div>
  );
}

function Groups({ rows, by }: { rows: readonly UsageRow[]; by: GroupBy }) {
  if (rows.length === 0) return null;
  const all = totalOf(rows).total_tokens;
  const sorted = [...rows].sort((a, b) => b.total_tokens - a.total_tokens);
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label="Table">
      <table class="plain">
        <caption class="vh">Usage by {by}</caption>
        <thead>
          <tr>
            <th scope="col">{by.charAt(0).toUpperCase() + by.slice(1)}</th>
            {["Requests", "Input", "Cached", "Output", "Share", "Cost"].map((name) => (
              <th key={name} scope="col" class="num">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={nameOf(row) + (row.api_key_id ?? "")}>
              <th scope="row" class="row-name">
                {nameOf(row)}
              </th>
              <td class="num">{count(row.requests)}</td>
              <td class="num">{count(row.input_tokens)}</td>
              <td class="num">{percent(row.cached_input_tokens, row.input_tokens)}</td>
              <td class="num">{count(row.output_tokens)}</td>
              <td class="num">{percent(row.total_tokens, all)}</td>
              <td class="num">{costOf(Number(row.cost.value), session())}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
