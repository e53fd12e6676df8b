/** Values of filters, such as the name of a model. */

/**
 * Return a value as the filter line has it. No filter has a double quote, a comma or an inner asterisk in one value, so
 * the text before it stands for the rest.
 */
export function quoted(value: string): string {
  const at = value.search(/[",*]/);
  if (at >= 0) return `"${value.slice(0, at)}*"`;
  return /^\S+$/.test(value) ? value : `"${value}"`;
}
