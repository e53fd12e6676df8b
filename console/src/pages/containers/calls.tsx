/** The last calls in a container, with the responses that made them. */
import type { ContainerDetails } from "../../api/containers.ts";
import { isOwn } from "../../api/files.ts";
import type { Item, Json } from "../../api/types.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { StatusTag } from "../../parts/items/turn.tsx";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { visible } from "../../parts/raw.tsx";
import { Link } from "../../parts/router.tsx";
import { When } from "./state.tsx";
import { type Call, filtersOf, lastCalls } from "./used.ts";

const LONGEST = 160; // characters of a call's code

/** The calls of the reader's own tenant, and a search for all responses that ran code at the time. */
export function LastCalls({ container }: { container: ContainerDetails }) {
  const isRead = isOwn(container) && container.calls > 0;
  const { data, error, reload } = useLoad(
    (signal) => (isRead ? lastCalls(container, signal) : Promise.resolve<Call[]>([])),
    [container.id],
  );
  return (
    <section class="sheet" aria-label="Last calls">
      <div class="head">
        <h2>Last calls</h2>
        <Link to={`?q=${encodeURIComponent(filtersOf(container))}`} class="link small push">
          Responses of that time
        </Link>
      </div>
      {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      <Loading data={data} error={error} pad />
      {data && data.length > 0 && (
        <ul class="list-lines">
          {data.map(({ response, item }) => (
            <li key={item.id}>
              <Link to={`r/${response.id}`} class="grow">
                <code class="mono call-code">{visible(codeOf(item))}</code>
                <span class="muted small">{visible(response.input ?? response.id)}</span>
              </Link>
              {item.status && <StatusTag status={item.status} />}
              <span class="muted small num wide">
                <When at={response.created_at} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {data?.length === 0 && (
        <p class="muted small pad">
          {container.calls === 0
            ? "No call yet."
            : "The newest stored responses have no call in this container. “Responses of that time” lists all that ran code then."}
        </p>
      )}
    </section>
  );
}

/** Return the beginning of what a call ran. */
function codeOf({ code, action }: Item): string {
  const commands = (action as Json | undefined)?.commands;
  const text = Array.isArray(commands) ? commands.join("; ") : String(code ?? "");
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
