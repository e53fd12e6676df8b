/** The tools of a request, each as JSON that the reader can edit; hosted tools also have forms. */
import { useSignal } from "@preact/signals";
import type { Json } from "../../api/types.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Switch, TextField } from "../../parts/fields.tsx";
import { Icon, type IconName } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { parsed, type Tool } from "./settings.ts";
import { formOf } from "./tool_forms.tsx";

const TEMPLATES: Record<string, Json> = {
  Function: {
    type: "function",
    name: "get_weather",
    description: "Return the weather of a city.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
    strict: true,
  },
  "MCP server": {
    type: "mcp",
    server_label: "tracker",
    server_url: "https://example.com/mcp",
    require_approval: "always",
  },
  "Web search": { type: "web_search" },
  "File search": { type: "file_search", vector_store_ids: [] },
  "Code interpreter": { type: "code_interpreter", container: { type: "auto" } },
  Shell: { type: "shell", environment: { type: "container_auto" } },
  "Image generation": { type: "image_generation" },
  "Other tool": { type: "custom", name: "tool" },
};

const ICONS: Record<string, IconName> = {
  web_search: "web",
  file_search: "files",
  code_interpreter: "code",
  shell: "code",
  image_generation: "image",
};

interface Props {
  tools: Tool[];
  error: string | undefined;
  onChange: (tools: Tool[]) => void;
}

/** The list of tools with their switches, and the dialog that edits one. */
export function Tools({ tools, error, onChange }: Props) {
  const edited = useSignal<{ at: number; text: string } | undefined>(undefined);
  const edit = (at: number, tool: Json) => {
    edited.value = { at, text: JSON.stringify(tool, null, 2) };
  };
  const put = (at: number, changes: Partial<Tool>) =>
    onChange(tools.map((each, index) => (index === at ? { ...each, ...changes } : each)));
  const add = Object.entries(TEMPLATES).map(([label, tool]) => ({
    label,
    run: () => (tool.type === "web_search" ? onChange([...tools, { isOn: true, tool }]) : edit(tools.length, tool)),
  }));
  return (
    <div class="field">
      <div class="label">
        Tools<small>{tools.filter(({ isOn }) => isOn).length} on</small>
      </div>
      <ul class="rows">
        {tools.map(({ isOn, tool }, at) => (
          <Switch
            key={`${at} ${nameOf(tool)}`}
            label={nameOf(tool)}
            note={nameOf(tool) === tool.type ? undefined : String(tool.type)}
            icon={<Icon name={ICONS[String(tool.type)] ?? "tool"} />}
            checked={isOn}
            onChange={(next) => put(at, { isOn: next })}
          >
            <button
              type="button"
              class="btn bare icon"
              aria-label={`Edit ${nameOf(tool)}`}
              onClick={() => edit(at, tool)}
            >
              <Icon name="dots" />
            </button>
          </Switch>
        ))}
        <li>
          <Menu class="btn bare" label="Add a tool" actions={add}>
            <Icon name="plus" />
            Add a tool
          </Menu>
        </li>
      </ul>
      {error && <small class="error-text">{error}</small>}
      {edited.value && (
        <ToolDialog
          text={edited.value.text}
          isNew={edited.value.at === tools.length}
          onClose={() => {
            edited.value = undefined;
          }}
          onSave={(tool) => {
            const at = edited.value?.at ?? 0;
            if (at === tools.length) onChange([...tools, { isOn: true, tool }]);
            else put(at, { tool });
          }}
          onRemove={() => onChange(tools.filter((_, index) => index !== edited.value?.at))}
        />
      )}
    </div>
  );
}

interface DialogProps {
  text: string;
  isNew: boolean;
  onClose: () => void;
  onSave: (tool: Json) => void;
  onRemove: () => void;
}

function ToolDialog({ text, isNew, onClose, onSave, onRemove }: DialogProps) {
  const typed = useSignal(text);
  const tool = parsed(typed.value);
  const error = !tool ? "Not a JSON object" : typeof tool.type === "string" ? "" : "A tool needs a type";
  const Form = formOf(tool);
  return (
    <Dialog title={isNew ? "Add a tool" : "Edit the tool"} onClose={onClose}>
      {tool && Form && (
        <Form
          tool={tool}
          onChange={(next) => {
            typed.value = JSON.stringify(next, null, 2);
          }}
        />
      )}
      <TextField
        label="Tool as JSON"
        rows={Form ? 9 : 14}
        isCode
        value={typed.value}
        error={error}
        onInput={(value) => {
          typed.value = value;
        }}
      />
      <div class="row">
        <button
          type="button"
          class="btn first"
          disabled={Boolean(error)}
          onClick={() => {
            if (tool) onSave(tool);
            onClose();
          }}
        >
          Save
        </button>
        {!isNew && (
          <button
            type="button"
            class="btn bad"
            onClick={() => {
              onRemove();
              onClose();
            }}
          >
            Remove
          </button>
        )}
      </div>
    </Dialog>
  );
}

function nameOf(tool: Json): string {
  return String(tool.name ?? tool.server_label ?? tool.type);
}
