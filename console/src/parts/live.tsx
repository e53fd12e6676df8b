/** The live region: short sentences for screen readers, one a second at most. */
import { signal } from "@preact/signals";

const sentence = signal("");
let waiting: ReturnType<typeof setTimeout> | undefined;

/** Say a sentence to screen readers; a newer one replaces one that waits. */
export function announce(text: string): void {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    sentence.value = text;
  }, 300);
}

/** The region itself; the shell has one. */
export function LiveRegion() {
  return (
    <div class="visually-hidden" role="status" aria-live="polite">
      {sentence.value}
    </div>
  );
}
