/** Rows far outside the window are not rendered: each chunk of the list is, while it is near the window. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Summary } from "../../api/types.ts";
import { Row } from "./row.tsx";

/** Rows of one chunk. */
export const CHUNK = 50;

const NEAR = "800px"; // before and behind the window
const ROW_HEIGHT = 57; // px, until a chunk has been measured
const COLUMNS = 8;

interface Props {
  rows: readonly Summary[];
  /** The place of its first row in the list. */
  first: number;
  /** The place of the selected row in the list. */
  selected: number;
  longest: number;
  now: number;
  picked: Signal<readonly string[]>;
}

/** Some rows, or a gap of their height. */
export function Chunk({ rows, first, selected, longest, now, picked }: Props) {
  const body = useRef<HTMLTableSectionElement>(null);
  const isNear = useSignal(first === 0);
  const height = useRef(0);
  useEffect(() => {
    if (!body.current) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry) return;
        if (isNear.value && !entry.isIntersecting) height.current = entry.boundingClientRect.height;
        isNear.value = entry.isIntersecting;
      },
      { rootMargin: NEAR },
    );
    observer.observe(body.current);
    return () => observer.disconnect();
  }, [isNear]);
  const isVisible = isNear.value || (selected >= first && selected < first + rows.length);
  return (
    <tbody ref={body}>
      {isVisible ? (
        rows.map((row, at) => (
          <Row
            key={row.id}
            row={row}
            index={first + at}
            isHere={first + at === selected}
            longest={longest}
            now={now}
            picked={picked}
          />
        ))
      ) : (
        <tr class="gap">
          <td colSpan={COLUMNS} style={{ height: `${height.current || rows.length * ROW_HEIGHT}px` }} />
        </tr>
      )}
    </tbody>
  );
}

/** Return the rows in chunks. */
export function chunksOf<T>(rows: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(rows.length / CHUNK) }, (_, at) => rows.slice(at * CHUNK, (at + 1) * CHUNK));
}
