/** What the command palette finds. */

import type { LinkProps } from "@tanstack/react-router";
import { call } from "../api/client.ts";
import { refetch, useOperation, useOperations } from "../api/queries.ts";
import { pausedStore } from "../api/refresh.ts";
import { useMay } from "../api/role.ts";
import { signOut } from "../api/session.ts";
import { pipeAddress, serviceAddress, serviceSettingsAddress } from "../lib/addresses.ts";
import { quotedName } from "../lib/quoted-name.ts";
import { toast, toastError } from "../parts/toast.tsx";
import { openShortcuts } from "./overlay-state.ts";
import { refreshNow } from "./refresh-state.tsx";
import { setTheme } from "./theme.ts";

export type PaletteEntry = {
  readonly key: string;
  readonly label: string;
  /** What kind of thing it is; also found by typing. */
  readonly kind: string;
  /** Found by its beginning. */
  readonly id?: string;
  readonly link?: LinkProps;
  readonly run?: () => void;
};

const pageNames: readonly (readonly [label: string, to: LinkProps["to"]])[] = [
  ["Overview", "/"],
  ["Services", "/services"],
  ["Pipes", "/pipes"],
  ["SQL", "/sql"],
  ["Explore", "/explore"],
  ["Dashboards", "/dashboards"],
  ["Alerts", "/alerts"],
  ["Alerts: webhooks", "/alerts/webhooks"],
  ["Backups", "/backups"],
  ["Activity", "/activity"],
  ["Access: keys, tokens, sessions", "/access"],
  ["System", "/system"],
];
const pages = pageNames.map(([label, to]): PaletteEntry => ({ key: `page ${to}`, label, kind: "page", link: { to } }));

/** They are shown to keys that may create. */
const creations: readonly PaletteEntry[] = [
  { key: "new service", label: "Create service", kind: "action", link: { to: "/services/new" } },
  { key: "new pipe", label: "New pipe", kind: "action", link: { to: "/new-pipe" } },
  { key: "new alert", label: "New alert", kind: "action", link: { to: "/alerts/new" } },
];

const actions: readonly PaletteEntry[] = [
  { key: "refresh", label: "Refresh this page", kind: "action", run: refreshNow },
  { key: "pause", label: "Pause or resume refreshing", kind: "action", run: () => pausedStore.set(!pausedStore.get()) },
  { key: "light", label: "Light theme", kind: "action", run: () => setTheme("light") },
  { key: "dark", label: "Dark theme", kind: "action", run: () => setTheme("dark") },
  { key: "system theme", label: "Theme of the system", kind: "action", run: () => setTheme("system") },
  { key: "shortcuts", label: "Keyboard shortcuts", kind: "action", run: openShortcuts },
  { key: "sign out", label: "Sign out", kind: "action", run: () => void signOut() },
];

type Named = { readonly id: string; readonly name: string; readonly state: string };

/** Pages and actions at once; objects as soon as they are loaded. */
export function usePaletteEntries(): readonly PaletteEntry[] {
  const services = useOperation("listServices", {}, { pace: "never" }).data ?? [];
  const pipes = useOperation("listAllPipes", { query: { limit: 1000 } }, { pace: "never" }).data?.pipes ?? [];
  const saved = useOperation("listSavedObjects", {}, { pace: "never" }).data ?? [];
  const ofServices = services.map(({ id }) => ({ params: { serviceId: id }, query: { columns: "false" as const } }));
  const tables = useOperations("listTables", ofServices, "never");
  const mayCommand = useMay("developer");
  return [
    ...pages,
    ...services.map(({ id, name }) => ({ key: id, id, label: name, kind: "service", link: serviceAddress(id) })),
    ...pipes.map(({ id, name, serviceId, serviceName }) => ({
      key: id,
      id,
      label: name,
      kind: `pipe of ${serviceName}`,
      link: pipeAddress(serviceId, id),
    })),
    ...saved.flatMap(({ id, name, kind }) => {
      const link = savedAddress(kind, id);
      return link === undefined
        ? []
        : [{ key: id, id, label: name, kind: kind === "query" ? "saved query" : kind, link }];
    }),
    ...services.flatMap((service, at) => tablesOf(service, tables[at]?.tables ?? [])),
    ...actions,
    ...(mayCommand ? [...creations, ...services.flatMap(commandsOf)] : []),
    ...services.map(({ id, name }) => ({
      key: `${id} settings`,
      label: `Settings of ${name}`,
      kind: "service",
      link: serviceSettingsAddress(id),
    })),
  ];
}

/** Where a saved object is opened by its name; undefined for those that have none of their own. */
function savedAddress(kind: string, id: string): LinkProps | undefined {
  if (kind === "query") return { to: "/sql", search: { saved: id } };
  return kind === "dashboard" ? { to: "/dashboards/$dashboardId", params: { dashboardId: id } } : undefined;
}

/** A table is opened as a statement that shows its rows. */
function tablesOf(
  { id, name }: Named,
  tables: readonly { readonly database: string; readonly name: string }[],
): PaletteEntry[] {
  return tables.map((table) => {
    const q = `SELECT *\nFROM ${quotedName(table.database)}.${quotedName(table.name)}\nLIMIT 100`;
    const label = `${table.database}.${table.name}`;
    return { key: `${id} ${label}`, label, kind: `table of ${name}`, link: { to: "/sql", search: { service: id, q } } };
  });
}

function commandsOf({ id, name, state }: Named): PaletteEntry[] {
  const send = (command: "start" | "stop" | "awake") => () => {
    call("updateServiceState", { params: { serviceId: id }, body: { command } }).then(
      () => toast(`${name}: ${command === "awake" ? "wake" : command} requested`, "info"),
      toastError,
    );
    void refetch("listServices", "getService");
  };
  if (state === "idle") return [{ key: `${id} wake`, label: `Wake ${name}`, kind: "action", run: send("awake") }];
  if (state === "stopped" || state === "failed")
    return [{ key: `${id} start`, label: `Start ${name}`, kind: "action", run: send("start") }];
  return [{ key: `${id} stop`, label: `Stop ${name}`, kind: "action", run: send("stop") }];
}

const shown = 50;

/** Entries with every word of the text in their label or kind, or an id that begins with it. Beginnings come first. */
export function matching(entries: readonly PaletteEntry[], text: string): PaletteEntry[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return entries.slice(0, shown);
  const words = wanted.split(/\s+/);
  const matches = entries.filter(({ label, kind, id }) => {
    const all = `${label} ${kind}`.toLowerCase();
    return id?.startsWith(wanted) === true || words.every((word) => all.includes(word));
  });
  const rank = ({ label }: PaletteEntry) => (label.toLowerCase().startsWith(wanted) ? 0 : 1);
  return matches.toSorted((a, b) => rank(a) - rank(b)).slice(0, shown);
}
