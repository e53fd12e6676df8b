/** Pages that are loaded when they are first shown. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { ErrorNotice } from "./errors.tsx";

/** Return a component that loads another one at its first use. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const loaded = signal<ComponentType<P> | undefined>(undefined);
  const failed = signal(false);
  const start = () => {
    failed.value = false;
    load().then(
      (found) => {
        loaded.value = found;
      },
      () => {
        failed.value = true;
      },
    );
  };
  return function Lazy(props: P) {
    useEffect(() => {
      if (!loaded.value) start();
    }, []);
    const Page = loaded.value;
    if (Page) return <Page {...props} />;
    if (!failed.value) return <p class="loading muted">Loading…</p>;
    return <ErrorNotice error="This page could not be loaded. The server may have been updated." onRetry={start} />;
  };
}
