/** What can be done with a response. */
import { useSignal } from "@preact/signals";
import { apiBase } from "../../api/base.ts";
import {
  cancelResponse,
  deleteResponse,
  inputItems,
  requestBody,
  responseBody,
  storedEvents,
} from "../../api/responses.ts";
import type { Details } from "../../api/types.ts";
import { copy, save } from "../../parts/copy.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useShortcuts } from "../../parts/keys.ts";
import { Menu } from "../../parts/menu.tsx";
import { comparePath } from "../../parts/paths.ts";
import { navigate, query } from "../../parts/router.tsx";
import { LANGUAGES, type Language, snippet } from "../../parts/snippets.ts";
import { isRunning } from "../../parts/status.tsx";
import { originalOf } from "./chain.tsx";

interface Props {
  details: Details;
  onError: (error: unknown) => void;
  onChange: () => void;
}

/** Buttons and menus: copy, run again, fork, cancel, export, delete. */
export function Actions({ details, onError, onChange }: Props) {
  const { summary, has_events } = details;
  const hasBody = details.body === "stored";
  const isConfirming = useSignal(false);
  const perform = (action: () => Promise<unknown>) => () => void action().catch(onError);
  const copyAs = (language: Language) =>
    perform(async () => copy(snippet(language, await requestBody(summary.id), apiBase()), `${language} code`));
  const fork = () => navigate(`play?from=${summary.id}`);
  const runAgain = () => navigate(`play?from=${summary.id}&run=1`);
  const shortcuts = [
    { keys: "c", does: "Copy as curl", run: copyAs("curl") },
    { keys: "y", does: "Fork", run: fork },
  ];
  useShortcuts(hasBody ? shortcuts : []);
  const cancel = perform(async () => {
    await cancelResponse(summary.id);
    onChange();
  });
  const original = query.value.get("original") ?? originalOf(details);
  const compare = () => navigate(comparePath(original ?? "", summary.id));
  const more = [
    { label: original ? "Compare with the original" : "Compare with…", run: compare },
    ...(summary.background && isRunning(summary) ? [{ label: "Cancel", run: cancel }] : []),
    ...(hasBody && !isRunning(summary) ? [{ label: "Continue", run: () => navigate(`play?after=${summary.id}`) }] : []),
    { label: "Copy ID", run: () => void copy(summary.id, "ID") },
    ...(hasBody ? [{ label: "Export as .jsonl", run: perform(() => exportLines(details, has_events)) }] : []),
    { label: "Delete…", run: () => (isConfirming.value = true), isDangerous: true },
  ];
  return (
    <>
      {original && (
        <button type="button" class="btn wide" onClick={compare}>
          <Icon name="compare" />
          Compare with the original
        </button>
      )}
      {hasBody && (
        <>
          <Menu
            class="btn wide"
            label="Copy as code"
            actions={LANGUAGES.map((name) => ({ label: name, run: copyAs(name) }))}
          >
            <Icon name="copy" />
            Copy as
            <Icon name="down" />
          </Menu>
          <button type="button" class="btn wide" onClick={runAgain}>
            <Icon name="again" />
            Run again
          </button>
          <button type="button" class="btn first" onClick={fork}>
            <Icon name="fork" />
            Fork
          </button>
        </>
      )}
      <Menu class="btn icon" label="More actions" actions={more}>
        <Icon name="dots" />
      </Menu>
      {isConfirming.value && (
        <DeleteDialog id={summary.id} onClose={() => (isConfirming.value = false)} onError={onError} />
      )}
    </>
  );
}

function DeleteDialog({
  id,
  onClose,
  onError,
}: {
  id: string;
  onClose: () => void;
  onError: (error: unknown) => void;
}) {
  const remove = () => {
    deleteResponse(id).then(() => navigate(""), onError);
    onClose();
  };
  return (
    <Dialog title="Delete this response?" onClose={onClose}>
      <p>
        This permanently deletes the input, the output and the events of <code>{id}</code>. Responses that continue it
        can no longer be continued. Token counts stay in the figures.
      </p>
      <div class="row">
        <button type="button" class="btn danger" onClick={remove}>
          Delete
        </button>
        <button type="button" class="btn" onClick={onClose}>
          Keep
        </button>
      </div>
    </Dialog>
  );
}

/** Save the request, the response and its events, one JSON object a line. */
async function exportLines({ summary }: Details, hasEvents: boolean): Promise<void> {
  const { id } = summary;
  const lines: unknown[] = [
    { type: "request", request: await requestBody(id) },
    { type: "input_items", data: await inputItems(id) },
    { type: "response", response: await responseBody(id) },
  ];
  for (let after = -1, hasMore = hasEvents; hasMore; ) {
    const page = await storedEvents(id, after);
    lines.push(...page.data);
    after = Number(page.data.at(-1)?.sequence_number);
    hasMore = page.has_more && page.data.length > 0;
  }
  save(`${id}.jsonl`, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`, "application/jsonl");
}
