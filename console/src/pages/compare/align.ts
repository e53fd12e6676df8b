/** Aligning two sequences by their longest common subsequence, with a bound on the work. */

/** A run of two sequences: equal on both sides, or what stands for what. The ends are excluded. */
export interface Run {
  isSame: boolean;
  a: readonly [number, number];
  b: readonly [number, number];
}

/** Work that is left: cells of tables. What exceeds it is one run that differs. */
export interface Budget {
  cells: number;
  isSpent: boolean;
}

/** Return a budget that takes some 30 ms: 2,000 by 2,000 lines. */
export function newBudget(): Budget {
  return { cells: 4_000_000, isSpent: false };
}

/** Return the runs of two sequences, in order. */
export function align(a: readonly string[], b: readonly string[], budget: Budget): Run[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [lastA, lastB] = [a.length - end, b.length - end];
  const runs: Run[] = [];
  push(runs, true, [0, start], [0, start]);
  for (const run of middle(a.slice(start, lastA), b.slice(start, lastB), budget)) {
    push(runs, run.isSame, [run.a[0] + start, run.a[1] + start], [run.b[0] + start, run.b[1] + start]);
  }
  push(runs, true, [lastA, a.length], [lastB, b.length]);
  return runs;
}

function push(runs: Run[], isSame: boolean, a: Run["a"], b: Run["b"]): void {
  if (a[0] < a[1] || b[0] < b[1]) runs.push({ isSame, a, b });
}

function middle(a: readonly string[], b: readonly string[], budget: Budget): Run[] {
  const cells = (a.length + 1) * (b.length + 1);
  if (a.length === 0 || b.length === 0) return [{ isSame: false, a: [0, a.length], b: [0, b.length] }];
  if (cells > budget.cells) {
    budget.isSpent = true;
    return [{ isSame: false, a: [0, a.length], b: [0, b.length] }];
  }
  budget.cells -= cells;
  return walked(a, b, tableOf(a, b));
}

/** The length of the longest common subsequence of what follows each pair of places; it fits 16 bits by the budget. */
function tableOf(a: readonly string[], b: readonly string[]): Uint16Array {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      const isSame = a[i] === b[j];
      table[at] = isSame ? cell(table, at + width + 1) + 1 : Math.max(cell(table, at + width), cell(table, at + 1));
    }
  }
  return table;
}

function walked(a: readonly string[], b: readonly string[], table: Uint16Array): Run[] {
  const width = b.length + 1;
  const runs: Run[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [fromA, fromB] = [i, j];
    const isSame = i < a.length && j < b.length && a[i] === b[j];
    if (isSame) {
      while (i < a.length && j < b.length && a[i] === b[j]) [i, j] = [i + 1, j + 1];
    } else {
      while ((i < a.length || j < b.length) && !(i < a.length && j < b.length && a[i] === b[j])) {
        const isRemoved =
          j >= b.length || (i < a.length && cell(table, (i + 1) * width + j) >= cell(table, i * width + j + 1));
        if (isRemoved) i += 1;
        else j += 1;
      }
    }
    runs.push({ isSame, a: [fromA, i], b: [fromB, j] });
  }
  return runs;
}

function cell(table: Uint16Array, at: number): number {
  return table[at] ?? 0;
}
