/** Two responses side by side: the differences of what was sent and returned, facts, and timelines on one scale. */
import { useSignal } from "@preact/signals";
import { ApiError } from "../../api/client.ts";
import { serverNow } from "../../api/clock.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Loading } from "../../parts/loading.tsx";
import { comparePath } from "../../parts/paths.ts";
import { visible } from "../../parts/raw.tsx";
import { Link, navigate, query } from "../../parts/router.tsx";
import { StatusIcon } from "../../parts/status.tsx";
import { Top } from "../../parts/top.tsx";
import { timelineOf } from "../response/timeline.ts";
import { type Range, TimelineTable } from "../response/timeline.tsx";
import "./compare.css";
import { Differences } from "./differences.tsx";
import { Measures } from "./measures.tsx";
import { type Side, useSide } from "./side.ts";

const LONGEST_ID = 100;

/** The page of the two responses that the query names. */
export function ComparePage() {
  const [a, b] = [query.value.get("a") ?? "", query.value.get("b") ?? ""];
  return (
    <>
      <Top title="Compare">
        <span class="push" />
        <button type="button" class="btn" onClick={() => navigate(comparePath(b, a), { replace: true })}>
          Swap A and B
        </button>
      </Top>
      <Comparison key={`${a} ${b}`} a={a} b={b} />
    </>
  );
}

/** Of two responses; other two are another comparison, so that nothing of these stands under the IDs of those. */
function Comparison({ a, b }: { a: string; b: string }) {
  const [left, right] = [useSide(a), useSide(b)];
  const both = left.details.data && right.details.data;
  return (
    <>
      <div class="compare-heads">
        <Head name="A" side={left} onChoose={(id) => navigate(comparePath(id, b))} />
        <Head name="B" side={right} onChoose={(id) => navigate(comparePath(a, id))} />
      </div>
      {both && (
        <>
          <Differences left={left} right={right} />
          <Measures a={left.details.data?.summary} b={right.details.data?.summary} />
          <Timelines sides={[left, right]} />
        </>
      )}
    </>
  );
}

interface HeadProps {
  name: "A" | "B";
  side: Side;
  onChoose: (id: string) => void;
}

function Head({ name, side: { id, details: loaded, retry }, onChoose }: HeadProps) {
  const isUnknown = loaded.error instanceof ApiError && loaded.error.status === 404;
  const summary = loaded.error === undefined ? loaded.data?.summary : undefined;
  return (
    <section class="sheet compare-head" aria-label={`Response ${name}`}>
      <h2>
        <span class="compare-letter">{name}</span>
        {summary && <StatusIcon status={summary.status} />}
        {summary ? (
          <Link to={`r/${id}`} class="response-id" title={id}>
            {visible(id.slice(0, LONGEST_ID))}
          </Link>
        ) : (
          id && <span class="response-id">{visible(id.slice(0, LONGEST_ID))}</span>
        )}
      </h2>
      {summary && <p class="cut muted">{visible(summary.input ?? "Its input is not stored.")}</p>}
      {isUnknown && (
        <div class="notice bad" role="alert">
          <p>
            <b>Response {name} was not found.</b> It was deleted, has expired, or belongs to a tenant that you cannot
            see.
          </p>
        </div>
      )}
      {loaded.error !== undefined && !isUnknown && <ErrorNotice error={loaded.error} onRetry={retry} />}
      {id !== "" && <Loading data={loaded.data} error={loaded.error} />}
      {(id === "" || isUnknown) && <Chooser name={name} onChoose={onChoose} />}
    </section>
  );
}

function Chooser({ name, onChoose }: { name: string; onChoose: (id: string) => void }) {
  const id = useSignal("");
  return (
    <form
      class="compare-chooser"
      onSubmit={(event) => {
        event.preventDefault();
        if (id.value.trim()) onChoose(id.value.trim());
      }}
    >
      <input
        class="input mono"
        aria-label={`ID of response ${name}`}
        placeholder="resp_…"
        maxLength={LONGEST_ID}
        value={id.value}
        onInput={(event) => {
          id.value = event.currentTarget.value;
        }}
      />
      <button type="submit" class="btn">
        <Icon name="right" />
        Show
      </button>
    </form>
  );
}

/** Both timelines, from the same start, in the same scale and with the same zoom. */
function Timelines({ sides }: { sides: readonly [Side, Side] }) {
  const zoom = useSignal<Range | undefined>(undefined);
  const now = serverNow();
  const found = sides.flatMap(({ details: { data } }) => (data ? [data] : []));
  const scale = Math.max(...found.map((each) => timelineOf(each, now).total));
  return (
    <div id="compare-timelines" tabIndex={-1} class="compare-timelines">
      {found.map((each, at) => (
        <TimelineTable key={at} details={each} now={now} title={`Timeline of ${"AB"[at]}`} scale={scale} zoom={zoom} />
      ))}
    </div>
  );
}
