/** Rows of a list, of which the reader chooses one or several. */
import { useId } from "preact/hooks";
import { visible } from "./raw.tsx";
import "./choice_rows.css";

interface Row {
  id: string;
  name: string;
  /** The text next to the name. */
  note: string;
}

interface Props {
  rows: readonly Row[];
  chosen: readonly string[];
  onChoose: (ids: string[]) => void;
  /** Whether only one can be chosen. */
  isOne?: boolean;
}

/** The rows, each with a box to tick. */
export function ChoiceRows({ rows, chosen, onChoose, isOne }: Props) {
  const name = useId();
  if (rows.length === 0) return null;
  const choose = (id: string, isOn: boolean) => {
    const others = isOne ? [] : chosen.filter((each) => each !== id);
    onChoose(isOn ? [...others, id] : others);
  };
  return (
    <ul class="rows choices">
      {rows.map((row) => (
        <li key={row.id}>
          <label>
            <input
              type={isOne ? "radio" : "checkbox"}
              name={isOne ? name : undefined}
              checked={chosen.includes(row.id)}
              onChange={(event) => choose(row.id, event.currentTarget.checked)}
            />
            <span class="cut">{visible(row.name)}</span>
          </label>
          <small class="push">{row.note}</small>
        </li>
      ))}
    </ul>
  );
}
