/** The settings of the playground. */
import type { Signal } from "@preact/signals";
import { session } from "../../api/session.ts";
import type { Model } from "../../api/types.ts";
import { Choice, Field, Switch, TextField } from "../../parts/fields.tsx";
import { Icon } from "../../parts/icons.tsx";
import { BackgroundHint } from "./background_hint.tsx";
import { EFFORTS, FORMATS, mistakesIn, type Settings, TOOL_CHOICES } from "./settings.ts";
import { Tools } from "./tools.tsx";

const MOST_MODELS = 4;
const FORMAT_WORDS = { json_object: "JSON", json_schema: "schema" };

interface Props {
  settings: Signal<Settings>;
  models: readonly Model[];
}

/** All fields; every change appears immediately in the code next to them. */
export function SettingsPanel({ settings, models }: Props) {
  const value = settings.value;
  const mistakes = mistakesIn(value);
  const set = (changes: Partial<Settings>) => {
    settings.value = { ...settings.value, ...changes };
  };
  const days = session().retention_days;
  return (
    <form class="panel settings" aria-label="Settings" onSubmit={(event) => event.preventDefault()}>
      <Models
        chosen={value.models}
        models={models}
        isOptional={value.promptId !== ""}
        onChange={(chosen) => set({ models: chosen })}
      />
      <PromptFields settings={value} error={mistakes.promptVariables ?? ""} onChange={set} />
      <TextField
        label="Instructions"
        rows={3}
        value={value.instructions}
        placeholder="How the model should answer"
        onInput={(instructions) => set({ instructions })}
      />
      <Tools tools={value.tools} error={mistakes.tools} onChange={(tools) => set({ tools })} />
      {value.tools.length > 0 && (
        <Choice
          label="Tool choice"
          values={TOOL_CHOICES}
          value={value.toolChoice}
          onChange={(toolChoice) => set({ toolChoice })}
        />
      )}
      <Choice label="Reasoning effort" values={EFFORTS} value={value.effort} onChange={(effort) => set({ effort })} />
      <Choice
        label="Output format"
        values={FORMATS}
        words={FORMAT_WORDS}
        value={value.format}
        onChange={(format) => set({ format })}
      />
      {value.format === "json_schema" && (
        <TextField
          label="JSON Schema"
          rows={8}
          isCode
          value={value.schema}
          placeholder='{"type": "object", "properties": {}}'
          error={mistakes.schema ?? ""}
          onInput={(schema) => set({ schema })}
        />
      )}
      <div class="pair">
        <TextField
          label="Temperature"
          inputMode="decimal"
          value={value.temperature}
          error={mistakes.temperature ?? ""}
          onInput={(temperature) => set({ temperature })}
        />
        <TextField
          label="Top P"
          inputMode="decimal"
          value={value.topP}
          error={mistakes.topP ?? ""}
          onInput={(topP) => set({ topP })}
        />
      </div>
      <TextField
        label="Maximum output tokens"
        inputMode="numeric"
        value={value.maxTokens}
        error={mistakes.maxTokens ?? ""}
        onInput={(maxTokens) => set({ maxTokens })}
      />
      <ul class="rows">
        <Switch label="Stream" checked={value.stream} onChange={(stream) => set({ stream })} />
        <Switch
          label="Store"
          note={days === null ? undefined : `${days} days`}
          checked={value.store}
          onChange={(store) => set({ store })}
        />
        <Switch label="Background" checked={value.background} onChange={(background) => set({ background })} />
        {value.tools.some(({ tool }) => tool.type === "file_search") && (
          <Switch label="Search results" checked={value.results} onChange={(results) => set({ results })} />
        )}
        {value.tools.some(({ tool }) => tool.type === "code_interpreter") && (
          <Switch label="Code outputs" checked={value.outputs} onChange={(outputs) => set({ outputs })} />
        )}
        {value.background && (
          <li class="muted">
            <BackgroundHint />
          </li>
        )}
        <Switch label="Cache" checked={value.cache} onChange={(cache) => set({ cache })} />
      </ul>
      <TextField
        label="Other parameters"
        note="JSON"
        rows={3}
        isCode
        value={value.other}
        placeholder='{"metadata": {"team": "docs"}}'
        error={mistakes.other ?? ""}
        onInput={(other) => set({ other })}
      />
      <p class="muted small">Requests use the limits of the key that you signed in with.</p>
    </form>
  );
}

interface PromptProps {
  settings: Settings;
  error: string;
  onChange: (changes: Partial<Settings>) => void;
}

/** The prompt that the request names, with the values of its variables. */
function PromptFields({ settings, error, onChange }: PromptProps) {
  const { promptId, promptVersion, promptVariables } = settings;
  return (
    <>
      <TextField
        label="Prompt ID"
        isCode
        value={promptId}
        placeholder="pmpt_…"
        onInput={(text) => onChange({ promptId: text.trim() })}
      />
      {promptId && (
        <TextField
          label="Prompt version"
          note="empty: default"
          value={promptVersion}
          onInput={(text) => onChange({ promptVersion: text.trim() })}
        />
      )}
      {promptId && (
        <TextField
          label="Prompt variables"
          note="JSON"
          rows={3}
          isCode
          value={promptVariables}
          placeholder='{"city": "Rome"}'
          error={error}
          onInput={(text) => onChange({ promptVariables: text })}
        />
      )}
    </>
  );
}

interface ModelsProps {
  chosen: string[];
  models: readonly Model[];
  /** Whether a request may have no model, since its prompt has one. */
  isOptional: boolean;
  onChange: (chosen: string[]) => void;
}

function Models({ chosen, models, isOptional, onChange }: ModelsProps) {
  const names = models.map(({ id }) => id);
  const put = (at: number, name: string) => onChange(chosen.map((each, index) => (index === at ? name : each)));
  return (
    <div class="panel-essential cards-tight">
      {chosen.map((name, at) => (
        <Field key={`${at} of ${chosen.length}`} label={chosen.length > 1 ? `Model ${at + 1}` : "Model"}>
          {(id) => (
            <div class="row tight">
              <select id={id} class="input grow" value={name} onChange={(event) => put(at, event.currentTarget.value)}>
                {(isOptional || name === "") && (
                  <option value="">{isOptional ? "Of the prompt" : "Choose a model"}</option>
                )}
                {name !== "" && !names.includes(name) && <option value={name}>{name}</option>}
                {names.map((each) => (
                  <option key={each} value={each}>
                    {each}
                  </option>
                ))}
              </select>
              {chosen.length > 1 && (
                <button
                  type="button"
                  class="btn bare icon"
                  aria-label={`Remove model ${at + 1}`}
                  onClick={() => onChange(chosen.filter((_, index) => index !== at))}
                >
                  <Icon name="close" />
                </button>
              )}
            </div>
          )}
        </Field>
      ))}
      {chosen.length < MOST_MODELS && (
        <button
          type="button"
          class="btn bare"
          onClick={() => onChange([...chosen, names.find((each) => !chosen.includes(each)) ?? ""])}
        >
          <Icon name="plus" />
          Compare with another model
        </button>
      )}
    </div>
  );
}
