/** The request, what the backends received, and the response, side by side. */
import { useSignal } from "@preact/signals";
import { requestBody, upstreamRequests } from "../../api/responses.ts";
import type { ResponseBody } from "../../api/types.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { bytes } from "../../parts/format.ts";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { RawJson } from "../../parts/raw.tsx";

/** The three bodies; `turn` changes when they have to be loaded again. */
export function Wire({ id, body, turn }: { id: string; body: ResponseBody | undefined; turn: string }) {
  const request = useLoad((signal) => requestBody(id, signal), [id, turn]);
  return (
    <section class="sheet wire" id="wire" tabIndex={-1} aria-label="Raw request, upstream requests and response">
      <div>
        <h3>
          Request<small>{request.data ? `rebuilt, ${sizeOf(request.data)}` : ""}</small>
        </h3>
        {request.data && <RawJson value={request.data} label="Request" />}
        <Loading {...request} pad />
        {request.error !== undefined && <ErrorNotice error={request.error} />}
      </div>
      <Upstream id={id} turn={turn} />
      <div>
        <h3>
          Response<small>{body ? sizeOf(body) : ""}</small>
        </h3>
        {body && <RawJson value={body} label="Response" />}
      </div>
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
      <h3>
        Upstream requests
        {all.length > 1 ? (
          <select
            class="push"
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
        ) : (
          <small>{call ? `${call.backend}, ${origin}, ${sizeOf(call.request)}` : ""}</small>
        )}
      </h3>
      {call && <RawJson value={call.request} label="Upstream request" />}
      <Loading {...calls} pad />
      {calls.data && !call && <p class="pad muted">No backend was called.</p>}
      {calls.data?.has_more && <p class="pad muted">Later requests are too large to be shown.</p>}
      {calls.error !== undefined && <ErrorNotice error={calls.error} />}
    </div>
  );
}

function sizeOf(value: unknown): string {
  return bytes(new TextEncoder().encode(JSON.stringify(value)).length);
}
