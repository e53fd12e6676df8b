/** Reports of `antiphon verify` as `/admin/v1/reports` has them. */
import { request } from "../../api/client.ts";
import type { List } from "../../api/types.ts";

/** What became of a requirement. */
export type State = "passed" | "failed" | "known" | "blocked" | "not offered" | "skipped" | "not in report";

/** Each state with its sign and what it means. */
export const STATES: Record<State, { sign: string; means: string }> = {
  passed: { sign: "✓", means: "The server keeps it." },
  failed: { sign: "✕", means: "The server violates it." },
  known: { sign: "≈", means: "The server violates it, and the profile says why." },
  blocked: { sign: "▪", means: "It cannot be judged while another requirement fails." },
  "not offered": { sign: "○", means: "The server says that it lacks the feature." },
  skipped: { sign: "–", means: "It was not exercised." },
  "not in report": { sign: "·", means: "The report does not contain the requirement." },
};

/** One run as lists show it. Times are seconds. */
export interface ReportSummary {
  id: string;
  server: string;
  model: string;
  started_at: number;
  base_url: string;
  profile: string;
  version: string;
  seconds: number;
  requests: number;
  conforms: boolean;
  musts_passed: number;
  musts_broken: number;
  outcomes: Record<Exclude<State, "known" | "not in report">, number>;
}

/** What became of one requirement. */
export interface Result {
  id: string;
  level: "must" | "should" | "may";
  source: string;
  sentence: string;
  state: State;
  came: string;
  known: string;
  place: string;
  blocked_by: string;
  curl: string;
}

/** The results of one area and kind. */
export interface Area {
  area: string;
  kind: "protocol" | "capability";
  passed: number;
  judged: number;
  results: Result[];
}

/** A requirement with another state than in the report before. */
export interface Change {
  id: string;
  before: State;
  now: State;
  is_worse: boolean;
  came: string;
}

/** One report in full. */
export interface Report extends ReportSummary {
  about: Record<string, string>;
  previous: ReportSummary | null;
  changes: Change[];
  areas: Area[];
}

/** Reports side by side; every list in it has an entry for each report. */
export interface Matrix {
  reports: ReportSummary[];
  areas: {
    area: string;
    kind: Area["kind"];
    scores: string[];
    rows: { id: string; level: Result["level"]; sentence: string; states: State[] }[];
  }[];
}

const REPORTS = "/admin/v1/reports";

/** Return all reports, newest first. */
export async function loadReports(signal?: AbortSignal): Promise<ReportSummary[]> {
  return (await request<List<ReportSummary>>(REPORTS, signal ? { signal } : {})).data;
}

/** Return one report. */
export function loadReport(id: string, signal: AbortSignal): Promise<Report> {
  return request(`${REPORTS}/${encodeURIComponent(id)}`, { signal });
}

/** Return the newest reports of all servers side by side. */
export function loadMatrix(signal: AbortSignal): Promise<Matrix> {
  return request(`${REPORTS}/matrix`, { signal });
}

/** Keep the report in a file that `antiphon verify --json` wrote. */
export async function addReport(file: File): Promise<ReportSummary> {
  const text = await file.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Error(`${file.name} is not JSON. antiphon verify --json FILE writes a report.`);
  }
  return request(REPORTS, { method: "POST", body });
}

/** Delete a report. */
export function deleteReport(id: string): Promise<void> {
  return request(`${REPORTS}/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** A model of a server, with its reports, newest first. */
export interface Judged {
  server: string;
  model: string;
  runs: [ReportSummary, ...ReportSummary[]];
}

/** Return the reports by server and model, those that were judged last first. */
export function judgedOf(reports: readonly ReportSummary[]): Judged[] {
  const found = new Map<string, Judged>();
  for (const report of reports) {
    const key = JSON.stringify([report.server, report.model]);
    const known = found.get(key);
    if (known) known.runs.push(report);
    else found.set(key, { server: report.server, model: report.model, runs: [report] });
  }
  return [...found.values()];
}

/** Return the verdict on a report in words, with its tone. */
export function verdictOf(report: ReportSummary): { tone: "good" | "bad" | "muted"; words: string } {
  if (report.conforms) return { tone: "good", words: "conforms" };
  if (report.musts_broken === 0) return { tone: "muted", words: "not judged" };
  return { tone: "bad", words: `${report.musts_broken} broken` };
}

const WEIGHT: State[] = ["failed", "blocked", "known", "not offered", "skipped", "passed"];

/** Return results with what needs a look first; otherwise their order stays. */
export function byWeight(results: readonly Result[]): Result[] {
  return [...results].sort((a, b) => WEIGHT.indexOf(a.state) - WEIGHT.indexOf(b.state));
}

/** Return the part of an id behind its area. */
export function nameOf(id: string): string {
  return id.slice(id.lastIndexOf(":") + 1);
}
