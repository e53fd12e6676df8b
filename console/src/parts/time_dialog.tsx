/** A dialog that asks for a time, from and to, in the zone that the pages show. */
import { useSignal } from "@preact/signals";
import { FormDialog } from "./form.tsx";
import { fromWallClock, offsetAt, wallClock, zoneName } from "./zone.ts";

interface Props {
  /** What the fields have at first, in seconds. */
  window: { since: number; until: number };
  onChoose: (since: number, until: number) => void;
  onClose: () => void;
}

/** The dialog. */
export function TimeDialog({ window, onChoose, onClose }: Props) {
  const from = useSignal(wallClock(window.since * 1000));
  const to = useSignal(wallClock(window.until * 1000));
  const [since, until] = [fromWallClock(from.value) / 1000, fromWallClock(to.value) / 1000];
  const isValid = since < until;
  const choose = async () => onChoose(since, until);
  return (
    <FormDialog title="Time" action="Show" isDisabled={!isValid} send={choose} onClose={onClose}>
      <TimeField label="From" value={from} />
      <TimeField label="To" value={to} />
      <p class={isValid ? "muted" : "bad"} role="status">
        {isValid ? `Times of ${zoneName()} (${offsetAt(until * 1000)})` : "“From” must be before “To”."}
      </p>
    </FormDialog>
  );
}

function TimeField({ label, value }: { label: string; value: { value: string } }) {
  return (
    <label class="field">
      {label}
      <input
        class="input"
        type="datetime-local"
        step={1}
        required
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}
