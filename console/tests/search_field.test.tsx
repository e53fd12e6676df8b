/** The field of the filter line. */
import { render } from "preact";
import { expect, test } from "vitest";
import { Search } from "../src/pages/responses/search.tsx";

test("the field has the line before it can be typed in", () => {
  const root = document.createElement("div");
  const field = { current: null };
  render(<Search field={field} line="status:failed" isInvalid={false} onChange={() => {}} />, root);
  expect(root.querySelector("input")?.value).toBe("status:failed");
});
