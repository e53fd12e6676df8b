/** The frame of every page: navigation, account and theme, and the page that the address names. */
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { session, signOut } from "./api/session.ts";
import { ROUTES, type Route, routeOf } from "./pages/routes.ts";
import { Icon, Mark } from "./parts/icons.tsx";
import { isTyping, useShortcuts } from "./parts/keys.ts";
import { lazy } from "./parts/lazy.tsx";
import { LiveRegion } from "./parts/live.tsx";
import { Menu } from "./parts/menu.tsx";
import { nextTheme, nextZone, shortcuts, theme, zone } from "./parts/preferences.ts";
import { Link, navigate, place } from "./parts/router.tsx";
import { ShortcutsDialog } from "./shortcuts.tsx";
import "./shell.css";

const GROUPS = ["", "Server", "Settings"] as const;
const DOCKED = 4; // pages in the bar of a phone; the others are behind "More"

const pages = new Map(ROUTES.map((route) => [route.path, lazy(route.load)]));

function visibleRoutes(): Route[] {
  const isAdmin = session().role === "admin";
  return ROUTES.filter((route) => route.within === undefined && (isAdmin || !route.isForAdmins));
}

/** The navigation, and the page. */
export function Shell() {
  const isHelpOpen = useSignal(false);
  const found = useComputed(() => routeOf(place.value.path));
  const here = found.value?.route.within ?? found.value?.route.path;
  const main = useRef<HTMLElement>(null);
  const path = place.value.path;
  const isFirst = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus moves whenever another page is shown.
  useEffect(() => {
    if (!isFirst.current && !isTyping(document.activeElement)) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [path]);
  useShortcuts([
    ...visibleRoutes().map(({ path: to, shortcut, name }) => ({
      keys: shortcut,
      does: `Open ${name}`,
      run: () => navigate(to),
    })),
    {
      keys: "?",
      does: "Show the shortcuts",
      run: () => {
        isHelpOpen.value = true;
      },
    },
  ]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Side
        here={here}
        onHelp={() => {
          isHelpOpen.value = true;
        }}
      />
      <main id="main" ref={main} tabIndex={-1}>
        <Page />
      </main>
      <Dock here={here} />
      <LiveRegion />
      {isHelpOpen.value && (
        <ShortcutsDialog
          onClose={() => {
            isHelpOpen.value = false;
          }}
        />
      )}
    </>
  );
}

function Page() {
  const found = routeOf(place.value.path);
  const Content = found && pages.get(found.route.path);
  if (Content) return <Content key={place.value.path} rest={found.rest} />;
  return (
    <div class="empty">
      <h1>This page does not exist</h1>
      <p>
        <Link to="" class="link">
          Open Responses
        </Link>
      </p>
    </div>
  );
}

function Side({ here, onHelp }: { here: string | undefined; onHelp: () => void }) {
  return (
    <aside class="side" aria-label="Antiphon">
      <Link to="" class="brand">
        <Mark />
        Antiphon
      </Link>
      <nav aria-label="Pages">
        {GROUPS.map((group) => {
          const routes = visibleRoutes().filter((route) => route.group === group);
          if (routes.length === 0) return null;
          return (
            <div key={group}>
              {group && <h2>{group}</h2>}
              <ul>
                {routes.map((route) => (
                  <li key={route.path}>
                    <Link to={route.path} current={route.path === here}>
                      <Icon name={route.icon} />
                      {route.name}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          );
        })}
      </nav>
      <Account onHelp={onHelp} />
    </aside>
  );
}

function Account({ onHelp }: { onHelp: () => void }) {
  const { tenant, key_name, needs_key, role, version } = session();
  return (
    <div class="account">
      <p title={`Antiphon ${version}`}>
        <Icon name="user" />
        <span class="cut">{key_name ?? (needs_key ? role : "Local")}</span>
        <span class="account-value">{tenant ?? "all tenants"}</span>
      </p>
      <button type="button" onClick={nextTheme}>
        <Icon name="theme" />
        Theme<span class="account-value">{theme.value}</span>
      </button>
      <button type="button" onClick={nextZone}>
        <Icon name="clock" />
        Times<span class="account-value">{zone.value}</span>
      </button>
      <button type="button" onClick={onHelp}>
        <Icon name="help" />
        Shortcuts<span class="account-value">{shortcuts.value}</span>
      </button>
      {needs_key && (
        <button type="button" onClick={signOut}>
          <Icon name="out" />
          Sign out
        </button>
      )}
    </div>
  );
}

function Dock({ here }: { here: string | undefined }) {
  const routes = visibleRoutes();
  const more = routes.slice(DOCKED).map(({ name, path }) => ({ label: name, run: () => navigate(path) }));
  const actions = [
    ...more,
    { label: `Theme: ${theme.value}`, run: nextTheme },
    { label: `Times: ${zone.value}`, run: nextZone },
    ...(session().needs_key ? [{ label: "Sign out", run: signOut }] : []),
  ];
  return (
    <nav class="dock" aria-label="Pages, below">
      {routes.slice(0, DOCKED).map((route) => (
        <Link key={route.path} to={route.path} current={route.path === here}>
          <Icon name={route.icon} />
          {route.shortName ?? route.name}
        </Link>
      ))}
      <Menu class="dock-more" label="More" actions={actions}>
        <Icon name="more" />
        More
      </Menu>
    </nav>
  );
}
