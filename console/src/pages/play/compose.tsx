/** The message field: text, role, attachments, send and stop. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { bytes, percent } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { visible } from "../../parts/raw.tsx";
import { FileChooser } from "../files/choose.tsx";
import type { Bench } from "./bench.ts";
import { type Attachment, attach, attachmentOf, type Draft, isPicture, uploadAll } from "./draft.ts";
import "./compose.css";

const ROLES = ["user", "developer", "system"] as const;

/**
 * The field. Enter sends, Shift+Enter begins a line; files may be dropped or pasted. Attached files are in the request,
 * uploaded ones are named by it. Disabled while the bench is filled in, which would replace what is written meanwhile.
 */
export function Compose({ bench, isDisabled }: { bench: Bench; isDisabled: boolean }) {
  const { draft } = bench;
  const isRunning = bench.isRunning.value;
  const mistake = bench.mistake.value;
  const send = () => void bench.send();
  const picker = useRef<HTMLInputElement>(null);
  const isUpload = useRef(false);
  const control = useRef(new AbortController());
  const isOver = useSignal(false);
  const isChoosing = useSignal(false);
  const failure = useSignal("");
  const progress = useSignal("");
  useEffect(() => () => control.current.abort(), []);
  const change = (changes: Partial<Draft>) => {
    draft.value = { ...draft.value, ...changes };
  };
  const take = (reading: Promise<Attachment[]>) => {
    failure.value = "";
    return reading.then(
      (found) => change({ files: [...draft.value.files, ...found] }),
      (error) => {
        failure.value = error.message;
      },
    );
  };
  const add = (files: Iterable<File>) => {
    if (!isUpload.current) return void take(attach(files));
    const report = (name: string, share: number) => {
      progress.value = `${name}: ${percent(share, 1)}`;
    };
    control.current = new AbortController();
    void take(uploadAll([...files], report, control.current.signal)).finally(() => {
      progress.value = "";
    });
  };
  const pick = (uploads: boolean) => () => {
    isUpload.current = uploads;
    picker.current?.click();
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    isOver.value = false;
    isUpload.current = false;
    if (event.dataTransfer && !isDisabled) add(event.dataTransfer.files);
  };
  const keyDown = (event: KeyboardEvent) => {
    const isSend = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (!isSend) return;
    event.preventDefault();
    if (!isRunning) send();
  };
  const { role, text, files } = draft.value;
  const hint = bench.isWaiting.value ? "The model waits for the calls above" : "Write a message, or drop files";
  return (
    <div class="compose-place">
      {bench.edited.value && (
        <p class="compose-note small">
          Sending replaces the marked message and what follows it.
          <button type="button" class="btn bare" onClick={() => bench.leave()}>
            Cancel
          </button>
        </p>
      )}
      {bench.unsaved.value && (
        <p class="compose-note small" role="status">
          A reload loses {visible(bench.unsaved.value)}.
        </p>
      )}
      <fieldset
        disabled={isDisabled}
        class={`compose${isOver.value ? " drop" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          isOver.value = true;
        }}
        onDragLeave={() => {
          isOver.value = false;
        }}
        onDrop={drop}
      >
        <textarea
          aria-label="Message"
          placeholder={isDisabled ? "The request is loading" : hint}
          value={text}
          rows={2}
          onInput={(event) => change({ text: event.currentTarget.value })}
          onKeyDown={keyDown}
          onPaste={(event) => {
            const pasted = event.clipboardData?.files;
            isUpload.current = false;
            if (pasted?.length) add(pasted);
          }}
        />
        {files.length > 0 && (
          <ul class="row">
            {files.map((file, at) => (
              <li class="picture" key={`${at} ${file.name}`}>
                {file.url && isPicture(file) ? (
                  <img src={file.url} alt="" />
                ) : (
                  <Icon name={isPicture(file) ? "image" : "attach"} />
                )}
                <span>
                  {visible(file.name)}, {file.id ? "uploaded" : bytes(file.size)}
                  <button
                    type="button"
                    class="btn bare icon"
                    aria-label={`Remove ${file.name}`}
                    onClick={() => change({ files: files.filter((_, index) => index !== at) })}
                  >
                    <Icon name="close" />
                  </button>
                </span>
              </li>
            ))}
          </ul>
        )}
        <div class="line">
          <Menu
            class="btn bare icon"
            label="Attach files"
            actions={[
              { label: "Attach, in the request", run: pick(false) },
              { label: "Upload, and send the ID", run: pick(true) },
              {
                label: "Choose an uploaded file…",
                run: () => {
                  isChoosing.value = true;
                },
              },
            ]}
          >
            <Icon name="attach" />
          </Menu>
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              add([...(event.currentTarget.files ?? [])]);
              event.currentTarget.value = "";
            }}
          />
          <select
            aria-label="Role"
            value={role}
            onChange={(event) => change({ role: event.currentTarget.value as Draft["role"] })}
          >
            {ROLES.map((each) => (
              <option key={each} value={each}>
                as {each}
              </option>
            ))}
          </select>
          {progress.value && <span class="muted small cut">{visible(progress.value)}</span>}
          <span class="grow error-text" role="status">
            {failure.value || mistake}
          </span>
          {isRunning ? (
            <button type="button" class="btn icon" aria-label="Stop" onClick={() => bench.stop()}>
              <Icon name="stop" />
            </button>
          ) : (
            <button
              type="button"
              class="btn first icon"
              aria-label="Send"
              onClick={send}
              disabled={Boolean(mistake) || !bench.hasModels.value}
            >
              <Icon name="send" />
            </button>
          )}
        </div>
      </fieldset>
      {isChoosing.value && (
        <FileChooser
          title="Choose uploaded files"
          action="Attach"
          onChosen={(chosen) => take(Promise.resolve(chosen.map(attachmentOf)))}
          onClose={() => {
            isChoosing.value = false;
          }}
        />
      )}
    </div>
  );
}
