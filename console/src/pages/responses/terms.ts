/** The term of a filter line at the caret, which suggestions complete. */

/** A term, and its place in the line. */
export interface Term {
  text: string;
  from: number;
  to: number;
}

const TERM = /(?:"[^"]*"?|[^\s"])+/g;

/** Return the term at the caret as far as it is typed; an empty one between terms. */
export function termAt(line: string, caret: number): Term {
  for (const { 0: text, index } of line.matchAll(TERM)) {
    if (index < caret && caret <= index + text.length) {
      return { text: line.slice(index, caret), from: index, to: index + text.length };
    }
  }
  return { text: "", from: caret, to: caret };
}

/** Return the line with a term completed, and where the caret then stands. */
export function completed(line: string, { from, to }: Term, text: string): { line: string; caret: number } {
  const [before, after] = [line.slice(0, from) + text, line.slice(to)];
  return { line: before + after, caret: before.length };
}

/** Whether a suggestion is a whole filter, rather than the name of one. */
export function isWhole(text: string): boolean {
  return !/[:.]$/.test(text);
}
