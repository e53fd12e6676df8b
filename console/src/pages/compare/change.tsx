/** One difference: its place, and both sides. */
import { useSignal } from "@preact/signals";
import { shortJson } from "../../parts/brackets.ts";
import { count } from "../../parts/format.ts";
import { beginningOf, coloured, LongText, visible } from "../../parts/raw.tsx";
import type { Change } from "./json_diff.ts";
import { diffTexts, type Piece, type TextRow } from "./text_diff.ts";

const FEW_ROWS = 100;
const FIRST = 1_000; // characters of a value that are shown at first
const LONGEST_CELL = 4_000; // characters of a line that are shown

/** The difference, as texts line by line, or as values. */
export function ChangeView({ change: { path, a, b } }: { change: Change }) {
  const word = a === undefined ? "only in B" : b === undefined ? "only in A" : "changed";
  const isText = typeof a === "string" && typeof b === "string";
  return (
    <li class="compare-change">
      <p class="compare-path">
        <code>{visible(path.slice(0, 300) || "value")}</code> <span class="muted">{word}</span>
      </p>
      {isText ? (
        <TextSides a={a} b={b} />
      ) : (
        <div class="compare-sides">
          <Value side="A" value={a} />
          <Value side="B" value={b} />
        </div>
      )}
    </li>
  );
}

function Value({ side, value }: { side: "A" | "B"; value: unknown }) {
  if (value === undefined) return <p class="compare-cell compare-none muted">Not in {side}</p>;
  const isText = typeof value === "string";
  return (
    <div class={`compare-cell compare-${side}`}>
      <span class="visually-hidden">In {side}: </span>
      <LongText
        text={isText ? value : shortJson(value)}
        nodes={isText ? visible : coloured}
        label={`In ${side}`}
        first={FIRST}
      />
    </div>
  );
}

function TextSides({ a, b }: { a: string; b: string }) {
  const isWhole = useSignal(false);
  const { rows, isCut } = diffTexts(a, b);
  const displayed = isWhole.value ? rows : rows.slice(0, FEW_ROWS);
  return (
    <>
      {isCut && <p class="muted small">These texts differ too much to compare each of their words.</p>}
      {displayed.map((row, at) => (
        <RowView key={at} row={row} />
      ))}
      {displayed.length < rows.length && (
        <button type="button" class="btn" onClick={() => (isWhole.value = true)}>
          Show {count(rows.length - displayed.length)} more lines
        </button>
      )}
    </>
  );
}

function RowView({ row: { isSame, a, b, skipped } }: { row: TextRow }) {
  if (skipped) return <p class="compare-gap muted small">{count(skipped)} equal lines</p>;
  return (
    <div class={isSame ? "compare-sides compare-same" : "compare-sides"}>
      <Line side="A" pieces={a} isSame={isSame} />
      <Line side="B" pieces={b} isSame={isSame} />
    </div>
  );
}

function Line({ side, pieces, isSame }: { side: "A" | "B"; pieces: readonly Piece[] | undefined; isSame: boolean }) {
  if (!pieces) return <p class="compare-cell compare-none" />;
  const Mark = side === "A" ? "del" : "ins";
  let left = LONGEST_CELL;
  const parts = pieces.map(({ text, isChanged }, at) => {
    const displayed = beginningOf(text, Math.max(0, left));
    left -= text.length;
    if (displayed === "") return null;
    return isChanged ? <Mark key={at}>{visible(displayed)}</Mark> : <span key={at}>{visible(displayed)}</span>;
  });
  return (
    <p class={isSame ? "compare-cell" : `compare-cell compare-${side}`} dir="auto">
      {!isSame && <span class="visually-hidden">In {side}: </span>}
      {parts}
      {left < 0 && <span class="muted"> … {count(-left)} more characters</span>}
    </p>
  );
}
