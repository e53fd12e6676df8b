/** The steps of an agent's response: what it did once, and what a later attempt finds. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { pathOfSteps, type Step, stepBody } from "../../api/responses.ts";
import type { Details } from "../../api/types.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { clock, duration, exact } from "../../parts/format.ts";
import { JsonPane } from "../../parts/json/pane.tsx";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { visible } from "../../parts/raw.tsx";
import "./steps.css";

const PAGE = { limit: "200" };

const STATES: Record<Step["state"], { word: string; tone: string }> = {
  begun: { word: "begun", tone: "warn" },
  done: { word: "done", tone: "good" },
  failed: { word: "failed", tone: "bad" },
  item: { word: "output item", tone: "" },
  waits: { word: "waits for the client", tone: "warn" },
};
const ANSWERED = { word: "was answered", tone: "good" };
const UNKNOWN = { word: "unknown", tone: "bad" };
const QUESTION = /\b(approval|client_call):/;

/** The list, in the order in which the steps began. While the response runs, it is loaded with its details. */
export function Steps({ details }: { details: Details }) {
  const { id } = details.summary;
  const list = usePaged<Step>(pathOfSteps(id), PAGE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new details bring new steps.
  useEffect(() => list.refresh(), [details]);
  return (
    <section class="sheet response-steps" aria-label="Steps">
      <div class="head">
        <h2>Steps</h2>
        <span class="muted small push">A later attempt gets the results of these, and does the rest</span>
      </div>
      <ul class="rows">
        {list.items.map((step) => (
          <StepRow key={step.id} details={details} step={step} />
        ))}
      </ul>
      <ListEnd list={list}>
        <p>No step was begun.</p>
      </ListEnd>
    </section>
  );
}

function StepRow({ details: { summary, children }, step }: { details: Details; step: Step }) {
  const { id, started_ms: start } = summary;
  const isOpen = useSignal(false);
  const { key, state, is_unknown, attempt, version, started_ms, ended_ms, body_bytes } = step;
  const isAnswered = state === "waits" && children.some(({ input }) => !input); // an answer is all of its input
  const { word, tone } = is_unknown ? UNKNOWN : isAnswered ? ANSWERED : STATES[state];
  return (
    <li>
      <details class="grow" onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
        <summary class="row">
          <code class="step-key">{visible(key)}</code>
          <span class={`tag ${tone}`}>{word}</span>
          <small class="push" title={exact(started_ms)}>
            {timesOf(step, start)}
          </small>
        </summary>
        {is_unknown && (
          <p class="error-text">
            It runs at most once, and it did not end: whether it took effect is unknown. Check the service that it
            called.
          </p>
        )}
        <p class="small muted">
          Attempt {attempt}, version {visible(version)}
          {body_bytes === 0 && ", stored nothing"}
        </p>
        {isOpen.value && body_bytes > 0 && <Body key={ended_ms} id={id} step={step} />}
      </details>
    </li>
  );
}

/** Return when a step ran; a question of an earlier response has the answer from the input of this one. */
function timesOf({ key, started_ms, ended_ms }: Step, start: number): string {
  const took = ended_ms === null ? "" : duration(ended_ms - started_ms);
  if (started_ms < start && QUESTION.test(key)) return `requested ${clock(started_ms)}, answered after ${took}`;
  const end = ended_ms === null ? ", not ended" : ended_ms > started_ms ? `, took ${took}` : "";
  return `after ${duration(Math.max(0, started_ms - start))}${end}`;
}

function Body({ id, step }: { id: string; step: Step }) {
  const { data, error, reload } = useLoad(async (signal) => ({ body: await stepBody(id, step.id, signal) }), []);
  if (error !== undefined) return <ErrorNotice error={error} onRetry={reload} />;
  return data ? <JsonPane title="Stored" value={data.body} /> : <Loading data={data} error={error} />;
}
