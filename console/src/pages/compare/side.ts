/** What is loaded of one of the two responses. */
import { details, requestBody, responseBody, upstreamRequests } from "../../api/responses.ts";
import type { Details, Json, ResponseBody, UpstreamRequests } from "../../api/types.ts";
import { type Loaded, useLoad } from "../../parts/load.ts";
import { useWhileRunning } from "../response/running.ts";

/** One response, as far as it is loaded. */
export interface Side {
  id: string;
  details: Loaded<Details>;
  request: Loaded<Json>;
  body: Loaded<ResponseBody>;
  calls: Loaded<UpstreamRequests>;
  /** Load again what failed. */
  retry: () => void;
}

type Read<T> = (id: string, signal: AbortSignal) => Promise<T>;

/** Load a response, and its content once it is known, again when it ends; of an empty ID nothing is loaded. */
export function useSide(id: string): Side {
  const loaded = useLoad((signal) => (id ? details(id, signal) : never<Details>()), [id]);
  useWhileRunning(loaded);
  const status = loaded.data?.summary.status;
  const content = <T>(read: Read<T>) => useLoad((signal) => (status ? read(id, signal) : never<T>()), [id, status]);
  const side = {
    id,
    details: loaded,
    request: content(requestBody),
    body: content(responseBody),
    calls: content(upstreamRequests),
  };
  const all = [side.details, side.request, side.body, side.calls];
  const retry = () => {
    for (const { error, reload } of all) if (error !== undefined) reload();
  };
  return { ...side, retry };
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
