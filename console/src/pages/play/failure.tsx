/** Why a turn failed, and what to do about it. */
import { ApiError, advice } from "../../api/client.ts";
import { copy } from "../../parts/copy.ts";
import { visible } from "../../parts/raw.tsx";
import { Link } from "../../parts/router.tsx";
import type { Turn } from "./turn.ts";

interface Props {
  turn: Turn;
  /** Send the message again; undefined where later messages follow its answer. */
  onRetry: (() => void) | undefined;
  /** Look for the response of a connection that was lost. */
  onResume: () => void;
}

/** The notice below a turn. */
export function Failure({ turn, onRetry, onResume }: Props) {
  const { error, responseId, requestId } = turn.state.value;
  const known = error instanceof ApiError ? error : undefined;
  const text = error instanceof Error ? error.message : "The response failed.";
  const canResume = known?.code === "connection_lost" && turn.isFailed && turn.manner.isStored && responseId !== "";
  return (
    <div class="notice bad" role="alert">
      <p>
        <b>{visible(text)}</b> {known?.status === 0 ? "Send the message again once it runs." : known && advice(known)}
        {turn.isFailed && " The message is not part of the conversation."}
      </p>
      {(known?.requestId || requestId) && <RequestId id={known?.requestId || requestId} />}
      <div class="row">
        {onRetry && (
          <button type="button" class="btn" onClick={onRetry}>
            Retry
          </button>
        )}
        {canResume && (
          <button type="button" class="btn" onClick={onResume}>
            Look for the response
          </button>
        )}
      </div>
    </div>
  );
}

function RequestId({ id }: { id: string }) {
  return (
    <p class="small">
      Request{" "}
      <Link to={`r/${encodeURIComponent(id)}`} class="link mono">
        {id}
      </Link>{" "}
      <button type="button" class="btn bare" onClick={() => copy(id, "Request ID")}>
        Copy ID
      </button>
    </p>
  );
}
