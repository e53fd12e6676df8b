/** Backends: health, load, models with what is known of them, the last hour, and what they refused. */
import { session } from "../../api/session.ts";
import type { Json } from "../../api/types.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { quoted } from "../../parts/filter_value.ts";
import { count, duration, percent, plural } from "../../parts/format.ts";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { useRefresh } from "../../parts/poll.ts";
import { Link } from "../../parts/router.tsx";
import { Top } from "../../parts/top.tsx";
import { Check } from "./check.tsx";
import { LastHour } from "./last_hour.tsx";
import { Lessons } from "./lessons.tsx";
import { type Backend, loadBackends, type Profile } from "./types.ts";
import "./page.css";

const HEALTH = {
  up: { tone: "good", word: "up" },
  out: { tone: "bad", word: "out" },
  resting: { tone: "warn", word: "paused" },
  mixed: { tone: "warn", word: "up for some workers" },
} as const;

/** The page; it is renewed every five seconds. */
export function BackendsPage() {
  const { data, error, reload } = useLoad(loadBackends, []);
  useRefresh(reload, [data, error]);
  return (
    <>
      <Top title="Backends">
        <span class="push muted small">{data && plural(data.workers, "worker")}</span>
        <Link class="btn" to="usage?by=backend&measure=speed">
          Compare speed
        </Link>
      </Top>
      {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      <Loading data={data} error={error} />
      {data?.backends.length === 0 && (
        <div class="sheet empty">
          <h2>No backend is configured</h2>
          <p>Start a model server, then name it in antiphon.toml or on the command line:</p>
          <pre>antiphon serve --backend http://127.0.0.1:11434/v1</pre>
        </div>
      )}
      <div class="columns">
        {data?.backends.map((backend) => (
          <BackendCard
            key={backend.name}
            backend={backend}
            profiles={data.profiles.filter((profile) => profile.backend === backend.name)}
            onChecked={reload}
          />
        ))}
      </div>
      {session().role === "admin" && <Lessons />}
    </>
  );
}

/** Return why a backend is not up, or what its last error was, as one sentence; empty where nothing is known. */
export function reasonOf({ health, rests_for, error, last_error, last_error_ago }: Backend): string {
  const until = rests_for > 0 ? ` It is called again in ${duration(rests_for * 1000)}.` : "";
  if (health !== "up") return `${ended(error || last_error || "It failed too often")}${until}`;
  if (!last_error) return "";
  const ago = last_error_ago === null || last_error_ago === undefined ? "" : `, ${duration(last_error_ago * 1000)} ago`;
  return `Last error${ago}: ${last_error}`;
}

function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

interface CardProps {
  backend: Backend;
  profiles: Profile[];
  onChecked: () => void;
}

function BackendCard({ backend, profiles, onChecked }: CardProps) {
  const { tone, word } = HEALTH[backend.health];
  const reason = reasonOf(backend);
  return (
    <section class="sheet" aria-label={`Backend ${backend.name}`}>
      <div class="head">
        <h2 class="cut">
          <Link to={`?q=${encodeURIComponent(`backend:${quoted(backend.name)}`)}`}>{backend.name}</Link>
        </h2>
        <span class={`tag ${tone}`}>{word}</span>
        <span class="muted small push">{backend.dialect}</span>
      </div>
      <div class="pad cards">
        {reason && <p class={`small ${backend.health === "up" ? "muted" : "error-text"}`}>{reason}</p>}
        <Check backend={backend} onChecked={onChecked} />
        <dl class="backend-figures">
          <div>
            <dt>In flight</dt>
            <dd>
              {count(backend.in_flight)} {backend.concurrency > 0 && <small>of {count(backend.concurrency)}</small>}
            </dd>
          </div>
          <div>
            <dt>Waiting</dt>
            <dd>
              {count(backend.waiting)} <small>of {count(backend.queue)}</small>
            </dd>
          </div>
          {(backend.asked ?? 0) > 0 && (
            <div>
              <dt>Calls since the start</dt>
              <dd>
                {count(backend.asked ?? 0)} <small>{count(backend.failed ?? 0)} failed</small>
              </dd>
            </div>
          )}
          {(backend.prompt_bytes ?? 0) > 0 && (
            <div>
              <dt>Prompt reused</dt>
              <dd>
                {percent(backend.prompt_reused_bytes ?? 0, backend.prompt_bytes ?? 0)}{" "}
                <small>since the server started</small>
              </dd>
            </div>
          )}
        </dl>
        <LastHour name={backend.name} />
        <Models backend={backend} profiles={profiles} />
      </div>
    </section>
  );
}

function Models({ backend, profiles }: { backend: Backend; profiles: Profile[] }) {
  const loaded = new Set(backend.loaded ?? []);
  if (backend.models.length === 0) return <p class="muted small">No models are known.</p>;
  return (
    <ul class="rows">
      {backend.models.map((model) => {
        const facts = profiles.find((profile) => profile.model === model)?.facts;
        return (
          <li key={model}>
            <details class="grow">
              <summary class="row">
                <span class="cut">{model}</span>
                {loaded.has(model) && <span class="tag good">loaded</span>}
                {facts && <small class="push">{plural(Object.keys(facts).length, "fact")}</small>}
              </summary>
              {facts ? <Facts facts={facts} /> : <small>Nothing was measured. Run antiphon models probe.</small>}
            </details>
          </li>
        );
      })}
    </ul>
  );
}

function Facts({ facts }: { facts: Json }) {
  return (
    <dl class="model-facts">
      {Object.entries(facts).map(([name, value]) => (
        <div key={name}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>{factText(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function factText(value: unknown): string {
  if (value === true) return "yes";
  if (value === false) return "no";
  if (typeof value === "number") return count(value);
  if (Array.isArray(value)) return value.map(factText).join(", ");
  if (typeof value === "object" && value !== null) return factText((value as Json).value ?? JSON.stringify(value));
  return String(value);
}
