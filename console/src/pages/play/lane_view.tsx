/** One lane on the page. */
import { useEffect, useRef } from "preact/hooks";
import type { Json } from "../../api/types.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { count, duration } from "../../parts/format.ts";
import { partsOf } from "../../parts/items/content.tsx";
import { ItemView } from "../../parts/items/item.tsx";
import { pendingCalls } from "../../parts/items/pending.ts";
import { Link } from "../../parts/router.tsx";
import { AnswerForm } from "./answers.tsx";
import type { Lane, LaneState } from "./lane.ts";
import { textMisfits } from "./schema_check.ts";

const NEAR = 80; // px from the end, within which the lane follows its text

interface Props {
  lane: Lane;
  isAlone: boolean;
  format: Json | undefined;
  onAnswered: (lane: Lane) => void;
}

/** The conversation of a lane, and its facts where several stand side by side. */
export function LaneView({ lane, isAlone, format, onAnswered }: Props) {
  const state = lane.state.value;
  const { items, output, answers, error, isRunning } = state;
  const box = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lane follows its output.
  useEffect(() => {
    const lane = box.current;
    if (lane && lane.scrollHeight - lane.scrollTop - lane.clientHeight < NEAR + lane.clientHeight / 3) {
      lane.scrollTop = lane.scrollHeight;
    }
  }, [items, output]);
  const pending = isRunning ? [] : pendingCalls(output, answers);
  const isEmpty = items.length === 0 && output.length === 0 && !isRunning && error === undefined;
  return (
    <section class="lane" ref={box} aria-label={`Conversation with ${nameOf(lane)}`}>
      {!isAlone && (
        <div class="head">
          <h2 class="cut">{nameOf(lane)}</h2>
          <span class="muted small num push">{factsOf(state)}</span>
        </div>
      )}
      <div class="talk">
        {isEmpty && <p class="muted">Write a message below. The request next to it is sent exactly as shown.</p>}
        {[...items, ...output].map((item, at) => (
          <ItemView
            key={`${at} ${item.id}`}
            item={item}
            after={
              pending.includes(item) ? (
                <AnswerForm
                  item={item}
                  onAnswer={(answer) => {
                    lane.answer(answer);
                    if (pending.length === 1) onAnswered(lane);
                  }}
                />
              ) : undefined
            }
          />
        ))}
        {isRunning && (
          <p class="muted">
            {output.length === 0 ? "Waiting for the model" : "Running"} <span class="caret" />
          </p>
        )}
        {format && !isRunning && state.status === "completed" && <SchemaCheck state={state} format={format} />}
        {error !== undefined && <ErrorNotice error={error} />}
        {state.responseId && !isRunning && (
          <p class="small">
            <Link to={`r/${state.responseId}`} class="link">
              Open this response
            </Link>
          </p>
        )}
      </div>
    </section>
  );
}

function nameOf({ model }: Lane): string {
  return model || "the model of the prompt";
}

function SchemaCheck({ state, format }: { state: LaneState; format: Json }) {
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

/** Return the times and tokens of a lane in a few words. */
export function factsOf({ firstMs, totalMs, usage }: LaneState): string {
  const parts = [
    firstMs !== null && `first ${duration(firstMs)}`,
    totalMs !== null && duration(totalMs),
    usage && `${count(usage.output_tokens)} tokens`,
  ];
  return parts.filter(Boolean).join(" · ");
}
