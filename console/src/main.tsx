/** The start of the console. */
import "./style/base.css";
import "./style/button.css";
import "./style/figures.css";
import "./style/histogram.css";
import "./style/layout.css";
import "./style/lines.css";
import "./style/notice.css";
import "./style/rows.css";
import "./style/search.css";
import "./style/segments.css";
import "./style/tag.css";
import "./style/text.css";
import "./style/time.css";
import { render } from "preact";
import { access, identity, known, openSession } from "./api/session.ts";
import { SignInPage } from "./pages/sign_in.tsx";
import { Shell } from "./shell.tsx";

/** The page of a session that has ended is kept below the sign-in, with all that its reader wrote, for this reader alone. */
function App() {
  const state = access.value;
  const found = known(state);
  return (
    <>
      {found && (
        <div class="app" key={identity()} hidden={state.is === "closed"}>
          <Shell />
        </div>
      )}
      {state.is === "closed" && <SignInPage error={state.error} isOver={found !== undefined} />}
    </>
  );
}

const root = document.getElementById("app");
if (root) render(<App />, root);
void openSession();
