/** Tables of lists: a caption for screen readers, heads of columns, and a column of actions. */
import type { ComponentChildren } from "preact";
import "./table.css";

interface Props {
  /** Names the region that scrolls sideways. */
  label: string;
  caption: string;
  columns: readonly string[];
  /** Classes of columns; the others have `usual`. */
  classes?: Readonly<Record<string, string>>;
  usual?: string;
  hasActions?: boolean;
  /** Whether rows are cards in a narrow window; each cell then names its column in `data-label`. */
  asCards?: boolean;
  /** The rows. */
  children: ComponentChildren;
}

/** The table; a row begins with `<th scope="row">` and ends with its actions, if there are some. */
export function ListTable({ label, caption, columns, classes = {}, usual = "", hasActions, asCards, children }: Props) {
  return (
    <div class={asCards ? "scroll-x as-cards" : "scroll-x"} tabIndex={0} role="region" aria-label={label}>
      <table class="plain">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col" class={classes[name] ?? usual}>
                {name}
              </th>
            ))}
            {hasActions && (
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
