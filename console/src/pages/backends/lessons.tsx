/** What refusals of backends taught: requests are sent differently because of it, until it expires or is dropped. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { clock, exact } from "../../parts/format.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { visible } from "../../parts/raw.tsx";
import { ListTable } from "../../parts/table.tsx";
import "./lessons.css";

const PATH = "/admin/v1/lessons";
const COLUMNS = ["Refused", "Model", "In its words", "Applies to", "Since"];

/** One lesson. Times are seconds since the epoch. */
interface Lesson {
  id: string;
  backend: string;
  model: string;
  tenant: string | null;
  name: string;
  said: string;
  learned_at: number;
  expires_at: number;
}

/** The lessons, for administrators. */
export function Lessons() {
  const list = usePaged<Lesson>(PATH);
  const doomed = useSignal<Lesson | undefined>(undefined);
  return (
    <section class="sheet lessons" aria-label="Lessons">
      <div class="head">
        <h2>What backends refused</h2>
        <span class="muted small push">Requests are adjusted for a day.</span>
      </div>
      {list.items.length > 0 && (
        <ListTable label="Table of lessons" caption="Lessons, newest first" columns={COLUMNS} hasActions asCards>
          {list.items.map((lesson) => (
            <LessonRow
              key={lesson.id}
              lesson={lesson}
              onDrop={() => {
                doomed.value = lesson;
              }}
            />
          ))}
        </ListTable>
      )}
      <ListEnd list={list}>
        <h2>No backend has refused anything</h2>
        <p>If a backend refuses a part of a request, later requests are sent without it. That appears here.</p>
      </ListEnd>
      {doomed.value && (
        <DropDialog
          lesson={doomed.value}
          onDone={list.refresh}
          onClose={() => {
            doomed.value = undefined;
          }}
        />
      )}
    </section>
  );
}

function LessonRow({ lesson, onDrop }: { lesson: Lesson; onDrop: () => void }) {
  const { name, backend, model, said: stated, tenant, learned_at, expires_at } = lesson;
  return (
    <tr>
      <th scope="row" class="row-name">
        <code>{visible(name)}</code>
      </th>
      <td data-label="Model">
        <span>
          {visible(model)} <small class="muted">at {backend}</small>
        </span>
      </td>
      <td data-label="In its words" class="lesson-words">
        {stated ? <>“{visible(stated)}”</> : "—"}
      </td>
      <td data-label="Applies to">{tenant ? <>tenant {visible(tenant)}</> : "all tenants"}</td>
      <td data-label="Since" title={`${exact(learned_at * 1000)}, until ${exact(expires_at * 1000)}`}>
        {clock(learned_at * 1000)}
      </td>
      <td class="actions">
        <button type="button" class="btn" aria-label={`Drop it: ${name} of ${model}`} onClick={onDrop}>
          Drop it
        </button>
      </td>
    </tr>
  );
}

function DropDialog({ lesson, onDone, onClose }: { lesson: Lesson; onDone: () => void; onClose: () => void }) {
  const drop = () => request(`${PATH}/${lesson.id}`, { method: "DELETE" }).then(onDone);
  return (
    <ConfirmDialog title="Drop this lesson?" action="Drop it" onConfirm={drop} onClose={onClose}>
      <p>
        Within seconds, no server adjusts requests for <b>{visible(lesson.model)}</b> at <b>{lesson.backend}</b> because
        of <code>{visible(lesson.name)}</code>. If the backend refuses it again, the lesson is learned again.
      </p>
    </ConfirmDialog>
  );
}
