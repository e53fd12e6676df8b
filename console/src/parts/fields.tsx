/** Fields of forms: switches, choices and texts, each with its label. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import "./fields.css";

interface SwitchProps {
  label: string;
  note?: string | undefined;
  icon?: ComponentChildren;
  checked: boolean;
  onChange: (isOn: boolean) => void;
  children?: ComponentChildren;
}

/** A row with a switch. */
export function Switch({ label, note, icon, checked, onChange, children }: SwitchProps) {
  const id = useId();
  return (
    <li>
      {icon}
      <label for={id}>{label}</label>
      {note && <small>{note}</small>}
      <span class="push" />
      {children}
      <input
        id={id}
        class="switch"
        type="checkbox"
        role="switch"
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    </li>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  note?: string;
  values: readonly T[];
  /** Words for values that are not their own. */
  words?: Partial<Record<T, string>>;
  value: T;
  onChange: (value: T) => void;
}

/** A row of choices, of which one is chosen. */
export function Choice<T extends string>({ label, note, values, words, value, onChange }: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset class="field">
      <legend>
        {label}
        {note && <small>{note}</small>}
      </legend>
      <div class="choice">
        {values.map((each) => (
          <label key={each} class={each === value ? "on" : ""}>
            <input type="radio" name={name} checked={each === value} onChange={() => onChange(each)} />
            {words?.[each] ?? each}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface FieldProps {
  label: string;
  note?: ComponentChildren;
  class?: string;
  children: (id: string) => ComponentChildren;
}

/** A field with its label; `children` receives the id of the control. */
export function Field({ label, note, class: name = "", children }: FieldProps) {
  const id = useId();
  return (
    <div class={`field ${name}`}>
      <label for={id}>
        {label}
        {note && <small>{note}</small>}
      </label>
      {children(id)}
    </div>
  );
}

interface TextProps {
  label: string;
  note?: ComponentChildren;
  value: string;
  rows?: number;
  placeholder?: string;
  isCode?: boolean;
  error?: string;
  inputMode?: "decimal" | "numeric" | "text" | "url";
  onInput: (value: string) => void;
}

/** A field of text, of one line or of several (`rows`); an error stands below it. */
export function TextField({ label, note, value, rows, placeholder, isCode, error, inputMode, onInput }: TextProps) {
  const common = {
    class: `input${isCode ? " mono" : ""}`,
    value,
    placeholder,
    spellcheck: !isCode,
    autocomplete: "off",
    "aria-invalid": Boolean(error),
  } as const;
  return (
    <Field label={label} note={note}>
      {(id) => (
        <>
          {rows ? (
            <textarea {...common} id={id} rows={rows} onInput={(event) => onInput(event.currentTarget.value)} />
          ) : (
            <input {...common} id={id} inputMode={inputMode} onInput={(event) => onInput(event.currentTarget.value)} />
          )}
          {error && <small class="error-text">{error}</small>}
        </>
      )}
    </Field>
  );
}

interface SelectProps {
  label: string;
  values: readonly string[];
  /** The value; one that is not among the values is offered too. */
  value: string;
  /** The word for no value. */
  usual: string;
  onChange: (value: string) => void;
}

/** A field with a menu of values; the first entry stands for none. */
export function SelectField({ label, values, value, usual, onChange }: SelectProps) {
  const all = value === "" || values.includes(value) ? values : [...values, value];
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{usual}</option>
          {all.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
