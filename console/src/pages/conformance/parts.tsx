/** What the views of the page share: a state, a score as a bar, and a verdict. */
import { percent } from "../../parts/format.ts";
import { type ReportSummary, STATES, type State, verdictOf } from "./types.ts";
import "./parts.css";

/** A state: its sign, and its word. */
export function StateMark({ state, isShort = false }: { state: State; isShort?: boolean }) {
  const { sign, means } = STATES[state];
  return (
    <span class={`state state-${state.replace(" ", "-")}`} title={`${state}: ${means}`}>
      <b aria-hidden="true">{sign}</b>
      <span class={isShort ? "visually-hidden" : ""}>{state}</span>
    </span>
  );
}

/** The share of judged requirements that pass, as a bar; numbers next to it say the same. */
export function Score({ passed, judged }: { passed: number; judged: number }) {
  return (
    <span class="score">
      <span class="score-bar" aria-hidden="true" style={{ "--w": percentOf(passed, judged) }}>
        {judged > 0 && <i />}
      </span>
      <span class="num">{judged === 0 ? "not judged" : `${passed} of ${judged}`}</span>
    </span>
  );
}

function percentOf(passed: number, judged: number): string {
  return judged === 0 ? "0%" : `${((100 * passed) / judged).toFixed(2)}%`;
}

/** Whether the server conforms. */
export function Verdict({ report }: { report: ReportSummary }) {
  const { tone, words } = verdictOf(report);
  return <span class={`tag ${tone}`}>{words}</span>;
}

/** Return the share of the musts that hold, for tooltips. */
export function mustsOf({ musts_passed: passed, musts_broken: broken }: ReportSummary): string {
  return `${percent(passed, passed + broken)} of the musts that were judged hold`;
}
