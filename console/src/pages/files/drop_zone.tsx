/** Where files are dropped or chosen, and how far their uploads are. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { bytes, percent, plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useShortcuts } from "../../parts/keys.ts";
import { visible } from "../../parts/raw.tsx";
import { type Upload, uploads } from "./uploads.ts";
import "./drop_zone.css";

interface Props {
  onFiles: (files: Iterable<File>) => void;
  /** The text next to the button. */
  children?: ComponentChildren;
}

/** The zone; `u` opens the browser's dialog. */
export function DropZone({ onFiles, children }: Props) {
  const picker = useRef<HTMLInputElement>(null);
  const isOver = useSignal(false);
  const choose = () => picker.current?.click();
  useShortcuts([{ keys: "u", does: "Upload files", run: choose }]);
  return (
    <div
      class={`drop-zone${isOver.value ? " over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => {
        isOver.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        isOver.value = false;
        if (event.dataTransfer) onFiles(event.dataTransfer.files);
      }}
    >
      <button type="button" class="btn first" onClick={choose}>
        <Icon name="attach" />
        Upload files
      </button>
      <span class="muted drop-hint">or drop them here</span>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      {children}
    </div>
  );
}

/** The uploads of this tab, where there are some. */
export function UploadList() {
  const all = uploads.all.value;
  if (all.length === 0) return null;
  const open = all.filter(({ state }) => state === "waiting" || state === "sending").length;
  return (
    <section class="sheet" aria-label="Uploads">
      <div class="head">
        <h2>{open > 0 ? `Uploading ${plural(open, "file")}` : "Uploads"}</h2>
        {open < all.length && (
          <button type="button" class="btn bare push" onClick={() => uploads.clear()}>
            Clear the list
          </button>
        )}
      </div>
      <ul class="list-lines">
        {all.map((each) => (
          <UploadLine key={each.number} upload={each} />
        ))}
      </ul>
    </section>
  );
}

const WORDS = { waiting: "waiting", sending: "", done: "uploaded", failed: "failed" } as const;
const TONES = { waiting: "", sending: "", done: "good", failed: "bad" } as const;

function UploadLine({ upload: { number, name, size, sent, state, error } }: { upload: Upload }) {
  const isOpen = state === "waiting" || state === "sending";
  return (
    <li>
      <div class="grow">
        <span>{visible(name)}</span>
        {state === "sending" && (
          <progress class="progress" max={Math.max(size, 1)} value={sent} aria-label={`Upload of ${name}`} />
        )}
        {state === "failed" && <p class="error-text">{(error as Error).message}</p>}
      </div>
      <span class="muted small num">
        {state === "sending" ? `${percent(sent, size)} of ${bytes(size)}` : bytes(size)}
      </span>
      {WORDS[state] && <span class={`tag ${TONES[state]}`}>{WORDS[state]}</span>}
      <button
        type="button"
        class="btn bare icon"
        aria-label={`${isOpen ? "Cancel" : "Clear"} the upload of ${name}`}
        onClick={() => uploads.remove(number)}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}
