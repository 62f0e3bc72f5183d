/** The tabs of the editor. Each tab of the browser has its own; a copy of each is kept at the server as a draft. */
import { sessionStore } from "../../api/session-state.ts";
import { Store } from "../../lib/store.ts";

export type QueryTab = {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly params: Readonly<Record<string, string>>;
  /** The draft at the server. */
  readonly draft?: { readonly id: string; readonly version: number };
  /** The saved query that was opened. */
  readonly saved?: { readonly id: string; readonly version: number };
};

export type QueryTabs = {
  readonly tabs: readonly QueryTab[];
  readonly activeId: string;
  /** The active one was opened, not chosen among those that were open. */
  readonly isOpened?: boolean;
};

const storageKey = "millrace.sql.tabs";

export function newTab(number: number, more: Partial<QueryTab> = {}): QueryTab {
  return { id: crypto.randomUUID(), title: `Query ${number}`, text: "", params: {}, ...more };
}

/** The tabs of this tab of the browser; one empty tab at first. */
export function loadTabs(storage: Pick<Storage, "getItem">): QueryTabs {
  try {
    const stored = JSON.parse(storage.getItem(storageKey) ?? "null") as QueryTabs | null;
    if (stored !== null && stored.tabs.length > 0) return stored;
  } catch {
    // What cannot be read is replaced.
  }
  const tab = newTab(1);
  return { tabs: [tab], activeId: tab.id };
}

export const tabsStore = new Store<QueryTabs>(
  typeof sessionStorage === "undefined" ? { tabs: [newTab(1)], activeId: "" } : loadTabs(sessionStorage),
);

tabsStore.subscribe(() => {
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(tabsStore.get()));
  } catch {
    // Full: the drafts at the server remain.
  }
});

sessionStore.subscribe(() => {
  const tab = newTab(1);
  if (sessionStore.get().signedOut === "left") tabsStore.set({ tabs: [tab], activeId: tab.id });
});

export function activeTab({ tabs, activeId }: QueryTabs): QueryTab {
  return tabs.find(({ id }) => id === activeId) ?? (tabs[0] as QueryTab);
}

/** Opens a tab with this content, in place of the active one if that is empty. */
export function openTab(content: Partial<QueryTab>): void {
  const state = tabsStore.get();
  const current = activeTab(state);
  const highest = Math.max(0, ...state.tabs.map(({ title }) => Number(/^Query (\d+)$/.exec(title)?.[1] ?? 0)));
  const tab = newTab(highest + 1, content);
  const isReplaced = current.text.trim() === "" && content.text !== undefined && current.saved === undefined;
  const tabs = isReplaced ? state.tabs.map((one) => (one === current ? tab : one)) : [...state.tabs, tab];
  tabsStore.set({ tabs, activeId: tab.id, isOpened: true });
}

export function selectTab(activeId: string): void {
  tabsStore.set({ tabs: tabsStore.get().tabs, activeId });
}

export function changeTab(id: string, change: Partial<QueryTab>): void {
  const state = tabsStore.get();
  tabsStore.set({ ...state, tabs: state.tabs.map((tab) => (tab.id === id ? { ...tab, ...change } : tab)) });
}

/** The neighbour becomes active; there is always a tab. */
export function closeTab(id: string): void {
  const state = tabsStore.get();
  const at = state.tabs.findIndex((tab) => tab.id === id);
  const rest = state.tabs.filter((tab) => tab.id !== id);
  const tabs = rest.length === 0 ? [newTab(1)] : rest;
  const activeId = state.activeId === id ? (tabs[Math.min(at, tabs.length - 1)] as QueryTab).id : state.activeId;
  tabsStore.set({ tabs, activeId });
}
