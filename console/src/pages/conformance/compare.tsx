/** Servers side by side: a column for each, a row for each area, and below it the requirements. */
import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { ErrorNotice } from "../../parts/errors.tsx";
import { day } from "../../parts/format.ts";
import { useLoad } from "../../parts/load.ts";
import { Link } from "../../parts/router.tsx";
import { StateMark, Verdict } from "./parts.tsx";
import { loadMatrix, type Matrix, nameOf } from "./types.ts";
import "./compare.css";

type Area = Matrix["areas"][number];

/** The matrix of the newest reports. */
export function Compare() {
  const { data, error, reload } = useLoad(loadMatrix, []);
  const onlyDifferent = useSignal(false);
  if (error !== undefined) return <ErrorNotice error={error} onRetry={reload} />;
  if (!data) return <p class="loading muted">Loading…</p>;
  return (
    <section class="sheet" aria-label="Comparison">
      <div class="head">
        <h2>Servers side by side</h2>
        <label class="matrix-check push small">
          <input
            type="checkbox"
            checked={onlyDifferent.value}
            onChange={(event) => {
              onlyDifferent.value = event.currentTarget.checked;
            }}
          />
          Only differences
        </label>
      </div>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Table">
        <table class="plain matrix">
          <caption class="visually-hidden">
            How many requirements of each area each server keeps, of those that were judged
          </caption>
          <Heads matrix={data} />
          <tbody>
            {areasOf(data, onlyDifferent.value).map((area) => (
              <AreaRows key={`${area.kind} ${area.area}`} area={area} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Return the areas; of those, where `isDifferent`, only rows in which servers differ. */
export function areasOf({ areas }: Matrix, isDifferent: boolean): Area[] {
  if (!isDifferent) return areas;
  return areas
    .map((area) => ({ ...area, rows: area.rows.filter(({ states }) => new Set(states).size > 1) }))
    .filter(({ rows }) => rows.length > 0);
}

function Heads({ matrix: { reports } }: { matrix: Matrix }) {
  return (
    <thead>
      <tr>
        <th scope="col">Area</th>
        {reports.map((report) => (
          <th key={report.id} scope="col" class="server">
            <Link to={`conformance/${report.id}`} title={`${report.base_url}, ${day(report.started_at * 1000)}`}>
              {report.server}
            </Link>
            {report.model && <small class="muted model">{report.model}</small>}
            <Verdict report={report} />
          </th>
        ))}
      </tr>
    </thead>
  );
}

function AreaRows({ area: { area, kind, scores, rows } }: { area: Area }) {
  const isOpen = useSignal(false);
  return (
    <Fragment>
      <tr class="area-row">
        <th scope="row" class="row-name">
          <button
            type="button"
            class="btn bare"
            aria-expanded={isOpen.value}
            onClick={() => {
              isOpen.value = !isOpen.value;
            }}
          >
            <span class="sign" aria-hidden="true">
              {isOpen.value ? "▾" : "▸"}
            </span>
            {area}
            {kind === "capability" && <small class="muted">capability</small>}
          </button>
        </th>
        {scores.map((score, at) => (
          <td key={at} class={toneOf(score)}>
            {score === "-" ? "—" : score}
          </td>
        ))}
      </tr>
      {isOpen.value &&
        rows.map(({ id, level, sentence, states }) => (
          <tr key={id} class="requirement">
            <th scope="row" title={sentence}>
              {nameOf(id)} <small class="muted">{level}</small>
            </th>
            {states.map((state, at) => (
              <td key={at}>
                <StateMark state={state} />
              </td>
            ))}
          </tr>
        ))}
    </Fragment>
  );
}

/** Return the tone of a score such as `12/14`. */
export function toneOf(score: string): "none" | "all" | "some" {
  const [passed, judged] = score.split("/");
  if (judged === undefined) return "none";
  return passed === judged ? "all" : "some";
}
