/** The sign-in page: paste an API key once, or open the link that `antiphon console` prints. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { signIn } from "../api/session.ts";
import { Mark } from "../parts/icons.tsx";
import { prose } from "../parts/prose.tsx";
import "./sign_in.css";

/** The form; `error` says why the last attempt failed, and `isOver` whether a page is kept behind it. */
export function SignInPage({ error, isOver = false }: { error: string; isOver?: boolean }) {
  const frame = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    // A dialog of the page that is kept would otherwise have the focus.
    if (isOver) frame.current?.showModal();
  }, [isOver]);
  if (!isOver) return <SignInForm error={error} />;
  return (
    <dialog ref={frame} class="sign-in-over" aria-label="Sign in" onCancel={(event) => event.preventDefault()}>
      <SignInForm error={error} />
    </dialog>
  );
}

function SignInForm({ error }: { error: string }) {
  const key = useSignal("");
  const isBusy = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    await signIn(key.value.trim());
    isBusy.value = false;
  };
  return (
    <main class="sign-in" id="main">
      <form class="sheet" onSubmit={submit}>
        <h1 class="brand">
          <Mark />
          Sign in to Antiphon
        </h1>
        <label class="field">
          API key
          <input
            ref={field}
            class="input mono"
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            aria-describedby="sign-in-help"
            aria-invalid={error !== ""}
            value={key.value}
            onInput={(event) => {
              key.value = event.currentTarget.value;
            }}
          />
        </label>
        {error && (
          <p class="notice bad" role="alert">
            {prose(error)}
          </p>
        )}
        <button type="submit" class="btn first" disabled={isBusy.value}>
          Sign in
        </button>
        <div id="sign-in-help" class="muted small">
          <p>The key needs the role read or admin. The browser does not keep it.</p>
          <p>
            On the server, <code>antiphon console</code> opens this page without a key, and{" "}
            <code>antiphon keys create --name NAME --role read</code> creates a key.
          </p>
        </div>
      </form>
    </main>
  );
}
