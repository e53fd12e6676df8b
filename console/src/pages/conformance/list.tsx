/** The newest report of each model of each server. */
import { count, day, duration, exact, plural } from "../../parts/format.ts";
import { Link } from "../../parts/router.tsx";
import { ListTable } from "../../parts/table.tsx";
import { mustsOf, Score, Verdict } from "./parts.tsx";
import { type Judged, judgedOf, type ReportSummary } from "./types.ts";

const COLUMNS = ["Server", "Verdict", "Musts", "Failed", "Not offered", "Judged on", "Runs"];

/** The table, or how to fill it. */
export function ReportList({ reports }: { reports: readonly ReportSummary[] }) {
  if (reports.length === 0) return <NoReports />;
  return (
    <section class="sheet" aria-label="Servers">
      <ListTable
        label="Table of servers"
        caption="The newest report of each model of each server"
        columns={COLUMNS}
        classes={CLASSES}
        asCards
      >
        {judgedOf(reports).map((each) => (
          <JudgedRow key={each.runs[0].id} judged={each} />
        ))}
      </ListTable>
    </section>
  );
}

const CLASSES = { Failed: "num", "Not offered": "num", Runs: "num" };

function JudgedRow({ judged: { server, model, runs } }: { judged: Judged }) {
  const [newest] = runs;
  return (
    <tr>
      <th scope="row" class="row-name">
        <Link to={`conformance/${newest.id}`}>{server}</Link>
        {model && <small class="muted model">{model}</small>}
      </th>
      <td data-label="Verdict">
        <Verdict report={newest} />
      </td>
      <td title={mustsOf(newest)} data-label="Musts">
        <Score passed={newest.musts_passed} judged={newest.musts_passed + newest.musts_broken} />
      </td>
      <td class="num" data-label="Failed">
        {count(newest.outcomes.failed)}
      </td>
      <td class="num" data-label="Not offered">
        {count(newest.outcomes["not offered"])}
      </td>
      <td title={exact(newest.started_at * 1000)} data-label="Judged on">
        <span>
          {day(newest.started_at * 1000)}
          <small class="muted model">
            {duration(newest.seconds * 1000)}, {plural(newest.requests, "request")}
          </small>
        </span>
      </td>
      <td class="num" data-label="Runs">
        {count(runs.length)}
      </td>
    </tr>
  );
}

function NoReports() {
  return (
    <div class="sheet empty">
      <h2>No reports yet</h2>
      <p>
        antiphon verify checks a server against both APIs: this one, a backend, or any other. With --save, its report
        appears here:
      </p>
      <pre>antiphon verify --base-url http://127.0.0.1:11434/v1 --name ollama --save</pre>
    </div>
  );
}
