/** A dialog that asks for a time, from and to, in the zone that the pages show. */
import { useSignal } from "@preact/signals";
import { FormDialog } from "./form.tsx";
import { fromWallClock, offsetAt, wallClock, zoneName } from "./zone.ts";

interface Props {
  /** What the fields have at first, in seconds. Without `until`, the time has no end. */
  window: { since: number; until: number | undefined };
  onChoose: (since: number, until: number | undefined) => void;
  onClose: () => void;
}

/** The dialog. */
export function TimeDialog({ window, onChoose, onClose }: Props) {
  const from = useSignal(wallClock(window.since * 1000));
  const to = useSignal(window.until === undefined ? "" : wallClock(window.until * 1000));
  const since = fromWallClock(from.value) / 1000;
  const until = to.value ? fromWallClock(to.value) / 1000 : undefined;
  const isValid = since < (until ?? Number.POSITIVE_INFINITY);
  const choose = async () => onChoose(since, until);
  return (
    <FormDialog title="Time" action="Show" isDisabled={!isValid} send={choose} onClose={onClose}>
      <TimeField label="From" value={from} required />
      <TimeField label="To (empty: now)" value={to} />
      <p class={isValid ? "muted" : "bad"} role="status">
        {isValid ? `Times of ${zoneName()} (${offsetAt((until ?? since) * 1000)})` : "“From” must be before “To”."}
      </p>
    </FormDialog>
  );
}

function TimeField({ label, value, required }: { label: string; value: { value: string }; required?: boolean }) {
  return (
    <label class="field">
      {label}
      <input
        class="input"
        type="datetime-local"
        step={1}
        required={required}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}
