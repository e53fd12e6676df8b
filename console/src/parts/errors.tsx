/** An error on the page: what happened, and what to do. */
import { advice } from "../api/client.ts";

/** The error of a request, with a button that tries again where that may help. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const text = error instanceof Error ? error.message : String(error);
  return (
    <div class="notice bad" role="alert">
      <p>
        <b>{text}</b> {advice(error)}
      </p>
      {onRetry && (
        <button type="button" class="btn" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
