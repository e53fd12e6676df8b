/** The sign-in page. */
import { render } from "preact";
import { expect, test } from "vitest";
import { SignInPage } from "../src/pages/sign_in.tsx";

test("an error shows roles and commands as code, without backticks", () => {
  const root = document.createElement("div");
  render(<SignInPage error="This needs the role `read`: `antiphon keys update key_1 --role read`." />, root);
  const alert = root.querySelector("[role=alert]");
  expect([...(alert?.querySelectorAll("code") ?? [])].map((each) => each.textContent)).toEqual([
    "read",
    "antiphon keys update key_1 --role read",
  ]);
  expect(alert?.textContent).toBe("This needs the role read: antiphon keys update key_1 --role read.");
});
