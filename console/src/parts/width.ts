/** The width of an element, while it changes. */
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

const UNKNOWN = 800; // px, before the first layout

/** Return the width of an element in px. */
export function useWidth(element: RefObject<Element | null>): number {
  const width = useSignal(UNKNOWN);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the element is there once it is rendered.
  useLayoutEffect(() => {
    const measured = element.current;
    if (!measured) return;
    const measure = () => {
      width.value = measured.clientWidth || UNKNOWN;
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(measured);
    return () => observer.disconnect();
  }, [element.current]);
  return width.value;
}
