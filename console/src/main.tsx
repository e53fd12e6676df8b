/** The start of the console. */
import { render } from "preact";
import { access, openSession } from "./api/session.ts";
import { SignInPage } from "./pages/sign_in.tsx";
import { Shell } from "./shell.tsx";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/responses.css";
import "./style/response.css";
import "./style/play.css";
import "./style/pages.css";
import "./style/conformance.css";
import "./style/files.css";
import "./style/code.css";
import "./style/narrow.css";

function App() {
  switch (access.value.is) {
    case "loading":
      return null;
    case "closed":
      return <SignInPage error={access.value.error} />;
    case "open":
      return <Shell />;
  }
}

const root = document.getElementById("app");
if (root) render(<App />, root);
void openSession();
