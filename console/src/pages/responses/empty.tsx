/** What the list shows instead of rows if it is empty. */
import { apiBase } from "../../api/base.ts";
import { type Findings, find, pathOf } from "../../api/find.ts";
import { session } from "../../api/session.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { clock } from "../../parts/format.ts";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { Link } from "../../parts/router.tsx";
import { idIn } from "./pasted_id.ts";
import { withTime } from "./window.ts";

/** Return the command that would fill the list. */
export function firstCommand(base: string, needsKey: boolean): string {
  const lines = [
    `curl ${base}/responses`,
    ...(needsKey ? ['  -H "Authorization: Bearer $OPENAI_API_KEY"'] : []),
    '  -H "Content-Type: application/json"',
    `  -d '{"model": "MODEL", "input": "Hello"}'`,
  ];
  return lines.join(" \\\n");
}

const AROUND = 60; // seconds before and after the time in an ID

interface Props {
  line: string;
  onChange: (line: string) => void;
}

/** Says why there are no rows, and what to do. */
export function EmptyList({ line, onChange }: Props) {
  const { needs_key, retention_days } = session();
  const id = idIn(line);
  if (id) return <UnknownId id={id} onChange={onChange} />;
  if (line) {
    return (
      <div class="empty">
        <h2>No response matches these filters</h2>
        {retention_days !== null && <p>Responses are kept for {retention_days} days. Older ones have expired.</p>}
        <button type="button" class="btn" onClick={() => onChange("")}>
          Clear the filters
        </button>
      </div>
    );
  }
  return (
    <div class="empty">
      <h2>No responses yet</h2>
      <p>Send the first request, or open the playground. The response appears here at once.</p>
      <pre>{firstCommand(apiBase(), needs_key)}</pre>
    </div>
  );
}

/** What is known of an ID that no response of the list has. */
function UnknownId({ id, onChange }: { id: string; onChange: Props["onChange"] }) {
  const { data: found, error, reload } = useLoad((signal) => find(id, signal), [id]);
  if (error !== undefined) return <ErrorNotice error={error} onRetry={reload} />;
  if (!found) return <Loading data={undefined} pad />;
  const seconds = (found.created_ms ?? 0) / 1000;
  return (
    <div class="empty">
      <h2>{found.data.length > 0 ? "This ID is not that of a response" : "Nothing with this ID was found"}</h2>
      {found.data.map((each) => (
        <Link key={each.id} to={pathOf(each)} class="link">
          Open {each.kind.replace("_", " ")} {each.id}
        </Link>
      ))}
      {found.data.length === 0 && <p>{whyUnknown(found)}</p>}
      <div class="row">
        {found.created_ms !== null && (
          <button
            type="button"
            class="btn"
            onClick={() => onChange(withTime("", Math.floor(seconds) - AROUND, Math.ceil(seconds) + AROUND))}
          >
            Show responses of {clock(found.created_ms)}
          </button>
        )}
        <button type="button" class="btn" onClick={() => onChange("")}>
          Clear the filters
        </button>
      </div>
    </div>
  );
}

function whyUnknown({ created_ms, searched_since_ms }: Findings): string {
  const { retention_days: days } = session();
  const retention = days === null ? "" : ` Responses are kept for ${days} days.`;
  const created = created_ms === null ? "" : ` The ID was created at ${clock(created_ms)}.`;
  const searched =
    searched_since_ms === null ? "" : ` Only responses since ${clock(searched_since_ms)} were searched for a call.`;
  return `It was deleted, has expired, or belongs to a tenant that you cannot see; a rejected request has no response.${retention}${created}${searched}`;
}
