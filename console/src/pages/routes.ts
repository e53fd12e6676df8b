/** The pages: their paths, names and places in the navigation, each loaded when it is first shown. */
import type { ComponentType } from "preact";
import type { IconName } from "../parts/icons.tsx";

/** What every page receives: the parts of the path behind its own name. */
export interface PageProps {
  rest: string;
}

/** One page of the console. */
export interface Route {
  path: string;
  name: string;
  /** For the bar of a phone, where the name is too long for it. */
  shortName?: string;
  icon: IconName;
  group: "" | "Server" | "Settings";
  shortcut: string;
  /** The path of the page that stands for it in the navigation, where it has no place of its own. */
  within?: string;
  /** Whether only administrators can use it. */
  isForAdmins?: boolean;
  load: () => Promise<ComponentType<PageProps>>;
}

/** All pages, in the order of the navigation. */
export const ROUTES: readonly Route[] = [
  {
    path: "",
    name: "Responses",
    icon: "responses",
    group: "",
    shortcut: "g r",
    load: async () => (await import("./responses/page.tsx")).ResponsesPage,
  },
  {
    path: "r",
    name: "Response",
    icon: "responses",
    group: "",
    shortcut: "",
    within: "",
    load: async () => (await import("./response/page.tsx")).ResponsePage,
  },
  {
    path: "compare",
    name: "Compare",
    icon: "responses",
    group: "",
    shortcut: "",
    within: "",
    load: async () => (await import("./compare/page.tsx")).ComparePage,
  },
  {
    path: "conversations",
    name: "Conversations",
    shortName: "Chats",
    icon: "conversations",
    group: "",
    shortcut: "g c",
    load: async () => (await import("./conversations/page.tsx")).ConversationsPage,
  },
  {
    path: "play",
    name: "Playground",
    icon: "playground",
    group: "",
    shortcut: "g p",
    load: async () => (await import("./play/page.tsx")).PlaygroundPage,
  },
  {
    path: "files",
    name: "Files",
    icon: "files",
    group: "",
    shortcut: "g f",
    load: async () => (await import("./files/page.tsx")).FilesPage,
  },
  {
    path: "containers",
    name: "Containers",
    icon: "containers",
    group: "",
    shortcut: "g o",
    load: async () => (await import("./containers/page.tsx")).ContainersPage,
  },
  {
    path: "backends",
    name: "Backends",
    icon: "backends",
    group: "Server",
    shortcut: "g b",
    load: async () => (await import("./backends/page.tsx")).BackendsPage,
  },
  {
    path: "deferred",
    name: "Deferred",
    icon: "clock",
    group: "Server",
    shortcut: "g d",
    load: async () => (await import("./deferred/page.tsx")).DeferredPage,
  },
  {
    path: "usage",
    name: "Usage and cost",
    icon: "usage",
    group: "Server",
    shortcut: "g u",
    load: async () => (await import("./usage/page.tsx")).UsagePage,
  },
  {
    path: "conformance",
    name: "Conformance",
    icon: "conformance",
    group: "Server",
    shortcut: "g v",
    isForAdmins: true,
    load: async () => (await import("./conformance/page.tsx")).ConformancePage,
  },
  {
    path: "webhooks",
    name: "Webhooks",
    icon: "webhooks",
    group: "Settings",
    shortcut: "g w",
    load: async () => (await import("./webhooks/page.tsx")).WebhooksPage,
  },
  {
    path: "keys",
    name: "Keys",
    icon: "keys",
    group: "Settings",
    shortcut: "g k",
    load: async () => (await import("./keys/page.tsx")).KeysPage,
  },
];

/** Return the page of a path, and the rest of the path. */
export function routeOf(path: string): { route: Route; rest: string } | undefined {
  const slash = path.indexOf("/");
  const [name, rest] = slash < 0 ? [path, ""] : [path.slice(0, slash), path.slice(slash + 1)];
  const route = ROUTES.find((each) => each.path === name);
  return route && { route, rest };
}
