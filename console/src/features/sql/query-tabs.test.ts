import { beforeEach, expect, test } from "vitest";
import { activeTab, changeTab, closeTab, loadTabs, newTab, openTab, tabsStore } from "./query-tabs.ts";

beforeEach(() => {
  const tab = newTab(1);
  tabsStore.set({ tabs: [tab], activeId: tab.id });
});

const titles = () => tabsStore.get().tabs.map(({ title }) => title);

test("an empty tab is replaced, another one stays", () => {
  openTab({ text: "SELECT 1" });
  openTab({ text: "SELECT 2" });
  expect(tabsStore.get().tabs.map(({ text }) => text)).toEqual(["SELECT 1", "SELECT 2"]);
  expect(activeTab(tabsStore.get()).text).toBe("SELECT 2");
});

test("numbers of tabs are not used twice, and closing the last tab leaves an empty one", () => {
  openTab({});
  openTab({});
  closeTab(tabsStore.get().tabs[1]?.id as string);
  openTab({});
  expect(titles()).toEqual(["Query 1", "Query 3", "Query 4"]);
  for (const { id } of tabsStore.get().tabs) closeTab(id);
  expect(titles()).toEqual(["Query 1"]);
});

test("tabs survive a reload, and what cannot be read is replaced", () => {
  changeTab(tabsStore.get().activeId, { text: "SELECT 1" });
  const stored = JSON.stringify(tabsStore.get());
  expect(activeTab(loadTabs({ getItem: () => stored })).text).toBe("SELECT 1");
  expect(activeTab(loadTabs({ getItem: () => "{" })).text).toBe("");
});
