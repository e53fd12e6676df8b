/** The menu of saved views: open one, save what is shown under a name, delete one. */
import { useSignal } from "@preact/signals";
import { deleteView, type SavedView, saveView, type ViewPage, viewsOf } from "../api/views.ts";
import { Dialog } from "./dialog.tsx";
import { ErrorNotice } from "./errors.tsx";
import { TextField } from "./fields.tsx";
import { FormDialog } from "./form.tsx";
import { Icon } from "./icons.tsx";
import { announce } from "./live.tsx";
import { type Action, Menu } from "./menu.tsx";
import { navigate } from "./router.tsx";
import "./views.css";

const LONGEST_NAME = 80;

interface Props {
  page: ViewPage;
  /** The path of the page. */
  path: string;
  /** The query that is shown, and would be saved. */
  query: string;
}

/** The button and its menu, with the dialogs that it opens. */
export function ViewsMenu({ page, path, query }: Props) {
  const known = useSignal<readonly SavedView[]>([]);
  const dialog = useSignal<"" | "save" | "delete">("");
  const close = () => {
    dialog.value = "";
  };
  const load = async (): Promise<Action[]> => {
    known.value = await viewsOf(page);
    const opening = known.value.map((view) => ({
      label: view.name,
      run: () => navigate(path + (view.query && `?${view.query}`)),
    }));
    const saving = { label: "Save this view…", run: () => (dialog.value = "save") };
    const deleting = { label: "Delete a view…", run: () => (dialog.value = "delete") };
    return [...opening, saving, ...(opening.length > 0 ? [deleting] : [])];
  };
  return (
    <>
      <Menu class="btn" label="Views" actions={load}>
        Views
        <Icon name="down" />
      </Menu>
      {dialog.value === "save" && <SaveDialog view={{ page, query }} known={known.value} onClose={close} />}
      {dialog.value === "delete" && <DeleteDialog views={known.value} onClose={close} />}
    </>
  );
}

interface SaveProps {
  view: Omit<SavedView, "id" | "name">;
  known: readonly SavedView[];
  onClose: () => void;
}

function SaveDialog({ view, known, onClose }: SaveProps) {
  const name = useSignal("");
  const typed = name.value.trim();
  const isKnown = known.some((each) => each.name === typed);
  const isTooLong = [...typed].length > LONGEST_NAME;
  return (
    <FormDialog
      title="Save this view"
      action={isKnown ? "Replace" : "Save"}
      isDisabled={!typed || isTooLong}
      send={() => saveView({ ...view, name: typed })}
      onSaved={() => announce(`The view ${typed} is saved.`)}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name.value}
        error={isTooLong ? `A name has at most ${LONGEST_NAME} characters.` : ""}
        onInput={(value) => {
          name.value = value;
        }}
      />
      <p class="muted">
        {isKnown
          ? "You have a view with this name: it is replaced."
          : "Filters, order and time are saved, for your key alone."}
      </p>
    </FormDialog>
  );
}

function DeleteDialog({ views, onClose }: { views: readonly SavedView[]; onClose: () => void }) {
  const left = useSignal(views);
  const error = useSignal<unknown>(undefined);
  const remove = ({ id, name }: SavedView) => {
    error.value = undefined;
    deleteView(id).then(
      () => {
        left.value = left.value.filter((each) => each.id !== id);
        announce(`The view ${name} is deleted.`);
        if (left.value.length === 0) onClose();
      },
      (reason) => {
        error.value = reason;
      },
    );
  };
  return (
    <Dialog title="Delete views" onClose={onClose}>
      {error.value !== undefined && <ErrorNotice error={error.value} />}
      <ul class="rows">
        {left.value.map((view) => (
          <li key={view.id} class="view-row">
            <span class="grow">
              <b class="cut">{view.name}</b>
              <small class="cut mono">{readable(view.query)}</small>
            </span>
            <button type="button" class="btn bad" aria-label={`Delete ${view.name}`} onClick={() => remove(view)}>
              Delete
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** Return what a query filters by, as it is typed. */
function readable(query: string): string {
  return [...new URLSearchParams(query)].map(([, value]) => value).join(" ") || "everything";
}
