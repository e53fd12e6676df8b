/** Events of a running stream: only the rows in the window are rendered, however many came. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { count, duration } from "../../parts/format.ts";
import { visible } from "../../parts/raw.tsx";
import type { EventLog, EventRow } from "./event_log.ts";

const ROW = 1.375; // rem, the height of a row in code_panel.css
const BEYOND = 5; // rows that are rendered above and below the window

/** The rows of a log; `label` names the list. It stays at its end while it grows, unless the reader scrolled up. */
export function EventRows({ log, label }: { log: EventLog; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const row = useRef(0);
  const isAtEnd = useRef(true);
  const place = useSignal({ top: 0, height: 0 });
  const total = log.count.value;
  const size = log.rows.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: one observer follows the box.
  useEffect(() => {
    row.current = ROW * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    measure();
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const measure = () => {
    if (box.current) place.value = { top: box.current.scrollTop, height: box.current.clientHeight };
  };
  useLayoutEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  });
  const high = row.current || 1;
  const { height } = place.value;
  const top = isAtEnd.current ? Math.max(0, size * high - height) : place.value.top;
  const from = Math.max(0, Math.min(size, Math.floor(top / high)) - BEYOND);
  const to = Math.min(size, Math.ceil((top + height) / high) + BEYOND);
  return (
    <>
      {total > size && (
        <p class="pad muted small">
          The newest {count(size)} of {count(total)}
        </p>
      )}
      <div
        class="event-box"
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={label}
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - high;
          measure();
        }}
      >
        <ol class="events" style={{ paddingTop: `${from * ROW}rem`, paddingBottom: `${(size - to) * ROW}rem` }}>
          {log.rows.slice(from, to).map((each, at) => (
            <Row key={total - size + from + at} {...each} place={from + at + 1} size={size} />
          ))}
        </ol>
      </div>
    </>
  );
}

function Row({ at, number, type, detail, place, size }: EventRow & { place: number; size: number }) {
  return (
    <li aria-posinset={place} aria-setsize={size}>
      <span class="muted">{number}</span>
      <span class="muted">{duration(at)}</span>
      <span title={type}>{type}</span>
      <span class="detail">{visible(detail)}</span>
    </li>
  );
}
