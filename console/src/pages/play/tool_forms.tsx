/** The forms of hosted tools. Each changes its part of the tool's JSON, and leaves the rest as it is. */
import type { ComponentType } from "preact";
import { type Container, OWN_CONTAINERS } from "../../api/containers.ts";
import { FILES, type StoredFile } from "../../api/files.ts";
import type { Json } from "../../api/types.ts";
import { ChoiceRows } from "../../parts/choice_rows.tsx";
import { Choice, SelectField } from "../../parts/fields.tsx";
import { plural } from "../../parts/format.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { noteOf } from "../files/choose.tsx";
import { StoreChoice } from "./store_choice.tsx";

/** What a form receives. */
export interface ToolFormProps {
  tool: Json;
  onChange: (tool: Json) => void;
}

const MEMORY = ["1g", "4g", "16g", "64g"];

/** The form of a type of tool, undefined for a type that has none. */
export function formOf(tool: Json | undefined): ComponentType<ToolFormProps> | undefined {
  const type = String(tool?.type);
  return Object.hasOwn(FORMS, type) ? FORMS[type] : undefined;
}

const FORMS: Record<string, ComponentType<ToolFormProps>> = {
  file_search: StoreChoice,
  code_interpreter: CodeForm,
  shell: ShellForm,
  image_generation: ImageForm,
};

/** Return the tool with a parameter; an empty value removes it. */
export function withParameter(tool: Json, name: string, value: unknown): Json {
  const { [name]: _, ...rest } = tool;
  const isEmpty = value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
  return isEmpty ? rest : { ...rest, [name]: value };
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}

/** `container` is an id, or an object with the type `auto`. */
function CodeForm({ tool, onChange }: ToolFormProps) {
  const { container } = tool;
  const set = (next: unknown) => onChange({ ...tool, container: next });
  return (
    <ContainerForm
      id={typeof container === "string" ? container : undefined}
      auto={isObject(container) ? container : { type: "auto" }}
      onId={set}
      onAuto={set}
    />
  );
}

/** `environment` has the type `container_auto`, `container_reference` or `local`. */
function ShellForm({ tool, onChange }: ToolFormProps) {
  const environment = isObject(tool.environment) ? tool.environment : {};
  const { type, container_id } = environment;
  const set = (next: Json) => onChange({ ...tool, environment: next });
  return (
    <ContainerForm
      id={type === "container_reference" ? String(container_id ?? "") : undefined}
      auto={type === "container_auto" ? environment : { type: "container_auto" }}
      onId={(id) => set({ type: "container_reference", container_id: id })}
      onAuto={set}
    />
  );
}

interface ContainerFormProps {
  /** The container that is named, undefined for an automatic one. */
  id: string | undefined;
  auto: Json;
  onId: (id: string) => void;
  onAuto: (auto: Json) => void;
}

function ContainerForm({ id, auto, onId, onAuto }: ContainerFormProps) {
  const kind = id === undefined ? "automatic" : "existing";
  return (
    <>
      <Choice
        label="Container"
        values={["automatic", "existing"] as const}
        value={kind}
        onChange={(next) => (next === "automatic" ? onAuto({ type: auto.type }) : onId(""))}
      />
      {id === undefined ? <AutoForm auto={auto} onChange={onAuto} /> : <ExistingForm id={id} onChange={onId} />}
    </>
  );
}

function AutoForm({ auto, onChange }: { auto: Json; onChange: (auto: Json) => void }) {
  const files = usePaged<StoredFile>(FILES);
  const chosen = Array.isArray(auto.file_ids) ? auto.file_ids.map(String) : [];
  return (
    <>
      <SelectField
        label="Memory limit"
        values={MEMORY}
        value={textOf(auto.memory_limit)}
        usual="default"
        onChange={(memory) => onChange(withParameter(auto, "memory_limit", memory))}
      />
      <fieldset class="field">
        <legend>Files</legend>
        <ChoiceRows
          rows={files.items.map((file) => ({ id: file.id, name: file.filename, note: noteOf(file) }))}
          chosen={chosen}
          onChoose={(ids) => onChange(withParameter(auto, "file_ids", ids))}
        />
        <ListEnd list={files}>
          <p>No files yet. Upload them on the page Files.</p>
        </ListEnd>
      </fieldset>
    </>
  );
}

function ExistingForm({ id, onChange }: { id: string; onChange: (id: string) => void }) {
  const list = usePaged<Container>(OWN_CONTAINERS);
  const running = list.items.filter(({ status }) => status === "running");
  return (
    <fieldset class="field">
      <legend>Containers</legend>
      <ChoiceRows
        isOne
        rows={running.map((one) => ({ id: one.id, name: one.name || one.id, note: one.memory_limit ?? "" }))}
        chosen={[id]}
        onChoose={([next = ""]) => onChange(next)}
      />
      <ListEnd list={list}>
        <p>No containers yet. The first call in an automatic one creates it.</p>
      </ListEnd>
      {list.items.length > running.length && (
        <p class="muted small">{plural(list.items.length - running.length, "container")} expired.</p>
      )}
    </fieldset>
  );
}

/** The parameters with their values; without one, the backend chooses. */
const IMAGE: readonly (readonly [name: string, label: string, values: readonly string[]])[] = [
  ["size", "Size", ["auto", "1024x1024", "1536x1024", "1024x1536"]],
  ["quality", "Quality", ["auto", "low", "medium", "high"]],
  ["output_format", "Format", ["png", "jpeg", "webp"]],
  ["background", "Background", ["auto", "opaque", "transparent"]],
  ["partial_images", "Partial images", ["0", "1", "2", "3"]],
  ["action", "Action", ["auto", "generate", "edit"]],
];

function ImageForm({ tool, onChange }: ToolFormProps) {
  return (
    <div class="pair">
      {IMAGE.map(([name, label, values]) => (
        <SelectField
          key={name}
          label={label}
          values={values}
          value={textOf(tool[name])}
          usual="default"
          onChange={(text) =>
            onChange(withParameter(tool, name, name === "partial_images" && text ? Number(text) : text))
          }
        />
      ))}
    </div>
  );
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}
