/** One report: its verdict, what changed since the one before, and the results by area. */
import { useSignal } from "@preact/signals";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { ErrorNotice } from "../../parts/errors.tsx";
import { clock, count, day, duration, exact, plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { type Action, Menu } from "../../parts/menu.tsx";
import { Link, navigate } from "../../parts/router.tsx";
import { Top } from "../../parts/top.tsx";
import { Score, StateMark, Verdict } from "./parts.tsx";
import {
  type Area,
  byWeight,
  type Change,
  deleteReport,
  judgedOf,
  loadReport,
  loadReports,
  nameOf,
  type Report,
  type Result,
} from "./types.ts";
import "./report.css";

const MOST_CHANGES = 12; // shown until the reader expands the list

/** The view of the report with an ID. */
export function ReportView({ id }: { id: string }) {
  const { data, error, reload } = useLoad((signal) => loadReport(id, signal), [id]);
  const isDeleting = useSignal(false);
  return (
    <>
      <Top title={data?.server ?? "Report"}>
        {data && <Verdict report={data} />}
        <span class="push" />
        <Link to="conformance" class="btn">
          <Icon name="left" />
          All servers
        </Link>
        {data && (
          <>
            <Menu class="btn" label={`Runs: ${day(data.started_at * 1000)}`} actions={() => runsOf(data)}>
              <Icon name="clock" />
              {day(data.started_at * 1000)}
              <Icon name="down" />
            </Menu>
            <button
              type="button"
              class="btn"
              onClick={() => {
                isDeleting.value = true;
              }}
            >
              Delete…
            </button>
          </>
        )}
      </Top>
      {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      <Loading data={data} error={error} />
      {data && (
        <>
          <Facts report={data} />
          <Changes report={data} />
          <Areas areas={data.areas} />
        </>
      )}
      {isDeleting.value && (
        <ConfirmDialog
          title="Delete this report?"
          action="Delete"
          onConfirm={() => deleteReport(id).then(() => navigate("conformance"))}
          onClose={() => {
            isDeleting.value = false;
          }}
        >
          This permanently deletes the report. The next run is then compared with the one before it.
        </ConfirmDialog>
      )}
    </>
  );
}

/** Return the runs of the same model of the same server, to choose from. */
async function runsOf(report: Report): Promise<Action[]> {
  const all = judgedOf(await loadReports());
  const same = all.find(({ server, model }) => server === report.server && model === report.model);
  return (same?.runs ?? []).map((run) => ({
    label: `${clock(run.started_at * 1000)}${run.id === report.id ? " (shown)" : ""}`,
    run: () => navigate(`conformance/${run.id}`),
  }));
}

function Facts({ report }: { report: Report }) {
  const facts = [
    ["Model", report.model || "—", report.base_url],
    ["Musts", `${count(report.musts_passed)} of ${count(report.musts_passed + report.musts_broken)}`, "hold"],
    ["Failed", count(report.outcomes.failed), `${count(report.outcomes.blocked)} blocked by them`],
    ["Not offered", count(report.outcomes["not offered"]), `${count(report.outcomes.skipped)} skipped`],
    ["Run", duration(report.seconds * 1000), plural(report.requests, "request")],
    ["Profile", report.profile || "none", `Antiphon ${report.version}`],
    ...Object.entries(report.about).map(([name, value]) => [name, value, ""] as const),
  ] as const;
  return (
    <dl class="sheet facts">
      {facts.map(([label, value, note]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value}
            <small>{note}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Changes({ report: { changes, previous } }: { report: Report }) {
  const isWhole = useSignal(false);
  if (!previous) return null;
  const worse = changes.filter(({ is_worse }) => is_worse).length;
  return (
    <section class="sheet" aria-label="Changes">
      <div class="head">
        <h2>Changes</h2>
        <span class="muted small">
          since{" "}
          <Link to={`conformance/${previous.id}`} class="link" title={exact(previous.started_at * 1000)}>
            {day(previous.started_at * 1000)}
          </Link>
        </span>
        {worse > 0 && <span class="tag bad">{worse} worse</span>}
        {changes.length > worse && <span class="tag">{changes.length - worse} not worse</span>}
      </div>
      {changes.length === 0 ? (
        <p class="pad muted">Every requirement has the same outcome as before.</p>
      ) : (
        <ul class="list-lines changes">
          {changes.slice(0, isWhole.value ? changes.length : MOST_CHANGES).map((change) => (
            <ChangeLine key={change.id} change={change} />
          ))}
        </ul>
      )}
      {changes.length > MOST_CHANGES && !isWhole.value && (
        <div class="more-rows">
          <button
            type="button"
            class="btn"
            onClick={() => {
              isWhole.value = true;
            }}
          >
            Show all {count(changes.length)}
          </button>
        </div>
      )}
    </section>
  );
}

function ChangeLine({ change }: { change: Change }) {
  return (
    <li>
      <span class="grow">
        <span class="mono">{change.id}</span>
        {change.is_worse && change.came && <small class="muted">{change.came}</small>}
      </span>
      <span class="turn">
        <StateMark state={change.before} />
        <span aria-hidden="true">→</span>
        <span class="visually-hidden">, then</span>
        <StateMark state={change.now} />
      </span>
    </li>
  );
}

function Areas({ areas }: { areas: readonly Area[] }) {
  return (
    <section class="sheet" aria-label="Areas">
      <div class="head">
        <h2>Areas</h2>
      </div>
      {areas.map((area) => (
        <AreaDetails key={`${area.kind} ${area.area}`} area={area} />
      ))}
    </section>
  );
}

function AreaDetails({ area: { area, kind, passed, judged, results } }: { area: Area }) {
  const isOpen = useSignal(false);
  const others = results.filter(({ state }) => state !== "passed" && state !== "failed").length;
  return (
    <details
      class="area"
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary>
        <span class="area-name">
          {area}
          {kind === "capability" && <small class="muted"> capability</small>}
        </span>
        <Score passed={passed} judged={judged} />
        <small class="muted num">{others > 0 ? `${count(others)} not judged` : ""}</small>
      </summary>
      {isOpen.value && (
        <ul class="results">
          {byWeight(results).map((result) => (
            <ResultLine key={result.id} result={result} />
          ))}
        </ul>
      )}
    </details>
  );
}

function ResultLine({ result }: { result: Result }) {
  const { state, level, sentence, came, known, place, blocked_by } = result;
  const notes = [came, place && `at ${place}`, known, blocked_by && `blocked by ${blocked_by}`].filter(Boolean);
  return (
    <li>
      <StateMark state={state} />
      <span class="grow">
        <span>
          <span class="mono">{nameOf(result.id)}</span> <small class="muted">{level}</small>
        </span>
        <span class="soft">{sentence}</span>
        {state !== "passed" && notes.map((note) => <small key={note}>{note}</small>)}
        {state === "failed" && <code class="small">antiphon verify --replay {result.id}</code>}
      </span>
    </li>
  );
}
