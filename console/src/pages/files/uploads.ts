/** Uploads: a few at once, the others wait. They continue while the user visits other pages. */
import { signal } from "@preact/signals";
import { type Purpose, type StoredFile, upload } from "../../api/files.ts";
import { announce } from "../../parts/live.tsx";

const AT_ONCE = 2; // a browser has six connections to a server, and the pages need some

/** What becomes of uploaded files. */
export interface Plan {
  purpose: Purpose;
  seconds?: number | undefined;
  /** What follows the upload of each file, such as attaching it to a vector store. */
  after?: (file: StoredFile) => Promise<unknown>;
  /** Called whenever a file is done. */
  onDone: () => void;
}

/** One upload as it stands. */
export interface Upload {
  number: number;
  name: string;
  size: number;
  sent: number;
  state: "waiting" | "sending" | "done" | "failed";
  error: unknown;
}

interface Waiting {
  number: number;
  file: File;
  plan: Plan;
}

/** The uploads of this tab. */
export class Uploads {
  readonly all = signal<readonly Upload[]>([]);
  private readonly waiting: Waiting[] = [];
  private readonly controls = new Map<number, AbortController>();
  private last = 0;

  /** Upload files. */
  add(files: Iterable<File>, plan: Plan): void {
    const added = [...files].map((file) => {
      this.last += 1;
      this.waiting.push({ number: this.last, file, plan });
      return {
        number: this.last,
        name: file.name,
        size: file.size,
        sent: 0,
        state: "waiting",
        error: undefined,
      } as const;
    });
    this.all.value = [...this.all.value, ...added];
    this.start();
  }

  /** Cancel an upload, or clear one that has ended. */
  remove(number: number): void {
    const at = this.waiting.findIndex((each) => each.number === number);
    if (at >= 0) this.waiting.splice(at, 1);
    this.controls.get(number)?.abort();
    this.all.value = this.all.value.filter((each) => each.number !== number);
  }

  /** Clear all that have ended. */
  clear(): void {
    this.all.value = this.all.value.filter(({ state }) => state !== "done" && state !== "failed");
  }

  private start(): void {
    while (this.controls.size < AT_ONCE) {
      const next = this.waiting.shift();
      if (!next) return;
      void this.send(next);
    }
  }

  private async send({ number, file, plan }: Waiting): Promise<void> {
    const control = new AbortController();
    this.controls.set(number, control);
    this.change(number, { state: "sending" });
    const onProgress = (sent: number) => this.change(number, { sent });
    try {
      const stored = await upload(file, { ...plan, onProgress, signal: control.signal });
      this.change(number, { sent: file.size });
      await plan.after?.(stored);
      this.change(number, { state: "done" });
      announce(`${file.name} is uploaded.`);
    } catch (error) {
      this.change(number, { state: "failed", error });
    }
    this.controls.delete(number);
    this.start();
    plan.onDone();
  }

  private change(number: number, changes: Partial<Upload>): void {
    this.all.value = this.all.value.map((each) => (each.number === number ? { ...each, ...changes } : each));
  }
}

/** The uploads of this tab, for all pages. */
export const uploads = new Uploads();
