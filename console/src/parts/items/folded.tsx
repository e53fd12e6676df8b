/** A long text: its beginning, and on demand the rest in a box that scrolls, a part at a time. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { copy } from "../copy.ts";
import { count } from "../format.ts";
import { beginningOf, moreWords } from "../raw.tsx";
import "./folded.css";

const WHOLE = 20_000; // characters of a text that is never folded
const FIRST = 8_000; // characters that are shown of a longer one
const MORE = 100_000; // and by each press of the button
const MOST_GROWN = 100_000; // characters of a text that was written before the reader's eyes, and stays as it is

interface Props {
  text: string;
  /** Whether it is being written: it is not folded, and of a very long one the end is shown, where readers look. */
  isGrowing?: boolean;
  /** Return a text as nodes. */
  children: (text: string) => ComponentChildren;
}

/** The text, or as much of it as the reader wants. */
export function Folded({ text, isGrowing, children }: Props) {
  const end = useSignal(FIRST);
  const grew = useRef(false);
  grew.current ||= isGrowing === true;
  if (text.length <= (grew.current ? MOST_GROWN : WHOLE)) return <>{children(text)}</>;
  if (isGrowing) return <End text={text}>{children}</End>;
  const displayed = beginningOf(text, end.value);
  const left = text.length - displayed.length;
  const isOpen = end.value > FIRST;
  return (
    <div>
      <div
        class={isOpen ? "folded-box" : "folded-head"}
        {...(isOpen ? { tabIndex: 0, role: "region", "aria-label": "Long text" } : {})}
      >
        {children(displayed)}
      </div>
      <div class="folded-row">
        {left > 0 && (
          <button type="button" class="btn" onClick={() => (end.value += MORE)}>
            {moreWords(left, MORE)}
          </button>
        )}
        {isOpen && (
          <button type="button" class="btn" onClick={() => (end.value = FIRST)}>
            Fold
          </button>
        )}
        <button type="button" class="btn bare" onClick={() => copy(text, "Text")}>
          Copy all {count(text.length)} characters
        </button>
      </div>
    </div>
  );
}

function End({ text, children }: Pick<Props, "text" | "children">) {
  const start = text.length - FIRST;
  return (
    <>
      <p class="muted small">{count(start)} earlier characters are shown at the end.</p>
      {children(text.slice(/[\udc00-\udfff]/.test(text.charAt(start)) ? start + 1 : start))}
    </>
  );
}
