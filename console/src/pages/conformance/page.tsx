/** Conformance: reports of `antiphon verify`, one of them in full, and servers side by side. */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { ErrorNotice } from "../../parts/errors.tsx";
import { Icon } from "../../parts/icons.tsx";
import { announce } from "../../parts/live.tsx";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { Link, navigate } from "../../parts/router.tsx";
import { Top } from "../../parts/top.tsx";
import type { PageProps } from "../routes.ts";
import { Compare } from "./compare.tsx";
import { ReportList } from "./list.tsx";
import { ReportView } from "./report.tsx";
import { addReport, loadReports } from "./types.ts";

/** The page; the path names what it shows. */
export function ConformancePage({ rest }: PageProps) {
  if (rest === "") return <Overview />;
  if (rest !== "compare") return <ReportView id={rest} />;
  return (
    <>
      <Top title="Compare servers">
        <span class="push" />
        <Link to="conformance" class="btn">
          <Icon name="left" />
          All servers
        </Link>
      </Top>
      <Compare />
    </>
  );
}

function Overview() {
  const { data, error, reload } = useLoad(loadReports, []);
  return (
    <>
      <Top title="Conformance">
        <span class="push" />
        {(data?.length ?? 0) > 1 && (
          <Link to="conformance/compare" class="btn">
            Compare
          </Link>
        )}
        <AddButton />
      </Top>
      {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      <Loading data={data} error={error} />
      {data && <ReportList reports={data} />}
    </>
  );
}

function AddButton() {
  const field = useRef<HTMLInputElement>(null);
  const error = useSignal<unknown>(undefined);
  const add = (file: File | undefined) => {
    error.value = undefined;
    if (!file) return;
    addReport(file).then(
      (report) => {
        announce("The report was added.");
        navigate(`conformance/${report.id}`);
      },
      (reason) => {
        error.value = reason;
      },
    );
  };
  return (
    <>
      <input
        ref={field}
        type="file"
        hidden
        accept="application/json,.json"
        aria-label="Report"
        onChange={(event) => {
          add(event.currentTarget.files?.[0]);
          event.currentTarget.value = "";
        }}
      />
      <button type="button" class="btn first" onClick={() => field.current?.click()}>
        <Icon name="plus" />
        Add a report
      </button>
      {error.value !== undefined && <ErrorNotice error={error.value} />}
    </>
  );
}
