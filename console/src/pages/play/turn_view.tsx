/** One turn of a lane: what was said, what was answered, and what can be done with both. */
import { useMemo } from "preact/hooks";
import type { Item, Json } from "../../api/types.ts";
import { Icon } from "../../parts/icons.tsx";
import { partsOf } from "../../parts/items/content.tsx";
import { ItemView } from "../../parts/items/item.tsx";
import { pendingCalls } from "../../parts/items/pending.ts";
import { Link } from "../../parts/router.tsx";
import { AnswerForm } from "./answers.tsx";
import { BackgroundHint } from "./background_hint.tsx";
import type { Bench } from "./bench.ts";
import { Failure } from "./failure.tsx";
import type { Lane } from "./lane.ts";
import { textMisfits } from "./schema_check.ts";
import type { Turn, TurnState } from "./turn.ts";
import "./turn_view.css";

interface Props {
  bench: Bench;
  lane: Lane;
  turn: Turn;
  isLast: boolean;
  format: Json | undefined;
}

/** The turn. Only what changes is rendered again: of a long conversation, that is the newest turn. */
export function TurnView({ bench, lane, turn, isLast, format }: Props) {
  const state = turn.state.value;
  const { output, answers, error, isRunning, isLost, status, responseId } = state;
  const isWaiting = lane.waiting === turn;
  const messages = useMemo(() => turn.input.map((item, at) => <ItemView key={at} item={item} />), [turn.input]);
  const pending = isWaiting ? pendingCalls(output, answers) : [];
  const isProblem = !isRunning && (error !== undefined || turn.isFailed);
  const answer = (item: Item) => {
    turn.answer(item);
    if (pending.length === 1) bench.answer(lane, turn);
  };
  return (
    <div class={`lane-turn${bench.edited.value === turn.key ? " edited" : ""}`}>
      {messages}
      {!isRunning && (turn.isFailed || lane.isEditable) && <Actions bench={bench} lane={lane} turn={turn} />}
      {output.map((item, at) => (
        <ItemView
          key={`${at} ${item.id}`}
          item={item}
          after={pending.includes(item) ? <AnswerForm item={item} onAnswer={answer} /> : undefined}
        />
      ))}
      {isRunning && (
        <p class="muted" role={isLost ? "status" : undefined}>
          {activityOf(state)} <span class="caret" />
          {turn.manner.isBackground && responseId && (
            <>
              {" "}
              <BackgroundHint />
            </>
          )}
        </p>
      )}
      {format && isLast && !isRunning && status === "completed" && <SchemaCheck state={state} format={format} />}
      {isProblem && (
        <Failure
          turn={turn}
          onRetry={turn.isFailed || isLast ? () => bench.retry(lane, turn) : undefined}
          onResume={() => void turn.resume()}
        />
      )}
      {responseId && !isRunning && (isLast || isProblem) && (
        <p class="small">
          <Link to={`r/${responseId}`} class="link">
            Open this response
          </Link>
        </p>
      )}
    </div>
  );
}

function activityOf({ isLost, output }: TurnState): string {
  if (isLost) return "The connection was lost. Looking for the response";
  return output.length === 0 ? "Waiting for the model" : "Running";
}

function Actions({ bench, lane, turn }: { bench: Bench; lane: Lane; turn: Turn }) {
  const isMessage = turn.input.length === 1 && turn.input[0]?.type === "message";
  return (
    <div class="lane-turn-actions">
      {isMessage && (
        <button type="button" class="btn bare" onClick={() => bench.edit(turn)}>
          <Icon name="edit" />
          Edit
        </button>
      )}
      <button type="button" class="btn bare" onClick={() => bench.remove(lane, turn)}>
        <Icon name="close" />
        Remove
      </button>
    </div>
  );
}

function SchemaCheck({ state, format }: { state: TurnState; format: Json }) {
  const text = state.output
    .filter(({ type }) => type === "message")
    .flatMap(({ content }) => partsOf(content).map((part) => String(part.text ?? "")))
    .join("");
  if (!text) return null;
  const found = textMisfits(text, format.schema as Json | undefined);
  if (found.length === 0) return <p class="tag good">The output fits {format.schema ? "the schema" : "JSON"}</p>;
  return (
    <div class="notice warn">
      <ul>
        {found.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
    </div>
  );
}
