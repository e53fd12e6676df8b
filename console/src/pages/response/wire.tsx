/** The request, what the backends received, and the response, side by side. */
import { useSignal } from "@preact/signals";
import { requestBody, upstreamRequests } from "../../api/responses.ts";
import type { Details, ResponseBody } from "../../api/types.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { JsonPane } from "../../parts/json/pane.tsx";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import "./wire.css";

interface Props {
  details: Details;
  body: ResponseBody | undefined;
}

/** The three bodies. */
export function Wire({ details: { summary, has_steps }, body }: Props) {
  const { id, status: turn, usage } = summary; // another status has other bodies
  const request = useLoad((signal) => requestBody(id, signal), [id, turn]);
  return (
    <section class="sheet wire" id="wire" tabIndex={-1} aria-label="Raw request, upstream requests and response">
      {request.data ? (
        <JsonPane title="Request" note="rebuilt" value={request.data} />
      ) : (
        <div>
          <Loading {...request} pad />
          {request.error !== undefined && <ErrorNotice error={request.error} onRetry={request.reload} />}
        </div>
      )}
      {!has_steps && <Upstream id={id} turn={turn} />}
      {has_steps && usage.total_tokens > 0 && (
        <p class="pad small muted">The agent's calls of models are among its steps.</p>
      )}
      {body && <JsonPane title="Response" value={body} />}
    </section>
  );
}

function Upstream({ id, turn }: { id: string; turn: string }) {
  const calls = useLoad((signal) => upstreamRequests(id, signal), [id, turn]);
  const chosen = useSignal(-1);
  const all = calls.data?.data ?? [];
  const at = chosen.value < 0 ? all.length - 1 : chosen.value;
  const call = all[at];
  const origin = calls.data?.is_rebuilt ? "rebuilt" : "as sent";
  return (
    <div>
      {call && (
        <JsonPane
          title="Upstream requests"
          note={all.length > 1 ? origin : `${call.backend}, ${origin}`}
          value={call.request}
        >
          {all.length > 1 && (
            <select
              aria-label="Upstream request"
              value={String(at)}
              onChange={(event) => {
                chosen.value = Number(event.currentTarget.value);
              }}
            >
              {all.map(({ backend }, index) => (
                <option key={index} value={String(index)}>
                  {index + 1}: {backend}
                </option>
              ))}
            </select>
          )}
        </JsonPane>
      )}
      <Loading {...calls} pad />
      {calls.data && !call && <p class="pad muted">No backend was called.</p>}
      {calls.data?.has_more && <p class="pad muted">Later requests are too large to be shown.</p>}
      {calls.error !== undefined && <ErrorNotice error={calls.error} onRetry={calls.reload} />}
    </div>
  );
}
