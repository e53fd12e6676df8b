/** What the list shows instead of rows if it is empty. */
import { apiBase } from "../../api/base.ts";
import { session } from "../../api/session.ts";

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

/** Says why there are no rows, and what to do. */
export function EmptyList({ line, onClear }: { line: string; onClear: () => void }) {
  const { needs_key, retention_days } = session();
  if (line) {
    return (
      <div class="empty">
        <h2>No response matches these filters</h2>
        {retention_days !== null && <p>Responses are kept for {retention_days} days. Older ones have expired.</p>}
        <button type="button" class="btn" onClick={onClear}>
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
