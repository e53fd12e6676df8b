/** The differences of two texts: by lines, and in changed lines by words. */
import { align, type Budget, newBudget, type Run } from "./align.ts";

/** A part of a line. */
export interface Piece {
  text: string;
  isChanged: boolean;
}

/** A line on each side; undefined where a side has none. `skipped` lines that are equal on both sides are not shown. */
export interface TextRow {
  isSame: boolean;
  a: readonly Piece[] | undefined;
  b: readonly Piece[] | undefined;
  skipped?: number;
}

/** The rows, and whether the texts were too large to find each difference. */
export interface TextDiff {
  rows: TextRow[];
  isCut: boolean;
}

const AROUND = 2; // equal lines that are shown before and after a difference
const WORD = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;
const LEAST_SAME = 0.3; // of two lines, so that their words are compared

/** Compare two texts. */
export function diffTexts(a: string, b: string): TextDiff {
  const budget = newBudget();
  const [linesA, linesB] = [a.split("\n"), b.split("\n")];
  const runs = align(linesA, linesB, budget);
  const rows = runs.flatMap((run, at) =>
    run.isSame
      ? sameRows(linesA.slice(...run.a), at === 0, at === runs.length - 1)
      : changedRows(linesA.slice(...run.a), linesB.slice(...run.b), budget),
  );
  return { rows, isCut: budget.isSpent };
}

function sameRows(lines: readonly string[], isFirst: boolean, isLast: boolean): TextRow[] {
  const [head, tail] = [isFirst ? 0 : AROUND, isLast ? 0 : AROUND];
  const row = (text: string): TextRow => ({ isSame: true, a: whole(text, false), b: whole(text, false) });
  const skipped = lines.length - head - tail;
  if (skipped < 2) return lines.map(row);
  const gap = { isSame: true, a: undefined, b: undefined, skipped };
  return [...lines.slice(0, head).map(row), gap, ...lines.slice(lines.length - tail).map(row)];
}

function changedRows(a: readonly string[], b: readonly string[], budget: Budget): TextRow[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, at) => {
    const [before, after] = [a[at], b[at]];
    if (before === undefined || after === undefined) {
      return { isSame: false, a: optional(before), b: optional(after) };
    }
    const [piecesA, piecesB] = wordPieces(before, after, budget);
    return { isSame: false, a: piecesA, b: piecesB };
  });
}

function optional(text: string | undefined): readonly Piece[] | undefined {
  return text === undefined ? undefined : whole(text, true);
}

function whole(text: string, isChanged: boolean): readonly Piece[] {
  return [{ text, isChanged }];
}

/** Return two lines in pieces; lines that have little in common are one piece each. */
function wordPieces(a: string, b: string, budget: Budget): [readonly Piece[], readonly Piece[]] {
  const [wordsA, wordsB] = [a.match(WORD) ?? [], b.match(WORD) ?? []];
  const runs = align(wordsA, wordsB, budget);
  const same = runs
    .filter(({ isSame }) => isSame)
    .reduce((sum, run) => sum + wordsA.slice(...run.a).join("").length, 0);
  if (same < LEAST_SAME * Math.max(a.length, b.length)) return [whole(a, true), whole(b, true)];
  return [piecesOf(wordsA, runs, "a"), piecesOf(wordsB, runs, "b")];
}

function piecesOf(words: readonly string[], runs: readonly Run[], side: "a" | "b"): Piece[] {
  const pieces = runs.map((run) => ({ text: words.slice(...run[side]).join(""), isChanged: !run.isSame }));
  return pieces.filter(({ text }) => text !== "");
}
