/** Copies of the tabs at the server: what was typed survives this browser. */
import { call } from "../../api/client.ts";
import { asApiError } from "../../api/error.ts";
import { refetch } from "../../api/queries.ts";
import { changeTab, type QueryTab, tabsStore } from "./query-tabs.ts";

/** Time without typing after which a tab is kept. */
const pauseMs = 1_500;
const kept = new Map<string, string>();
let timer: ReturnType<typeof setTimeout> | undefined;
let keeping = Promise.resolve();

/** Keeps changed tabs from now on; the result ends it. */
export function keepDrafts(serviceId: () => string | undefined): () => void {
  for (const tab of tabsStore.get().tabs) if (tab.draft !== undefined) kept.set(tab.id, contentOf(tab));
  const unsubscribe = tabsStore.subscribe(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      keeping = keeping.then(() => keepAll(serviceId()));
    }, pauseMs);
  });
  return () => {
    unsubscribe();
    clearTimeout(timer);
  };
}

function contentOf({ text, params }: QueryTab): string {
  return JSON.stringify({ text, params });
}

async function keepAll(serviceId: string | undefined): Promise<void> {
  for (const tab of tabsStore.get().tabs) {
    const json = contentOf(tab);
    if (tab.text.trim() === "" || kept.get(tab.id) === json) continue;
    await keep(tab, { ...JSON.parse(json), ...(serviceId === undefined ? {} : { serviceId }) }).then(
      () => kept.set(tab.id, json),
      () => undefined,
    );
  }
}

async function keep(tab: QueryTab, content: Record<string, unknown>): Promise<void> {
  const name = titleOf(tab);
  const draft = tab.draft === undefined ? await create(name, content) : await update(tab.draft, name, content);
  changeTab(tab.id, { draft: { id: draft.id, version: draft.version } });
  await refetch("listSavedObjects");
}

async function create(name: string, content: Record<string, unknown>) {
  return await call("createSavedObject", { body: { kind: "draft", name, content } });
}

/** A draft that is gone or was changed in another tab of the browser is left alone: this tab gets its own. */
async function update(draft: { id: string; version: number }, name: string, content: Record<string, unknown>) {
  try {
    const body = { version: draft.version, name, content };
    return await call("updateSavedObject", { params: { savedObjectId: draft.id }, body });
  } catch (error) {
    const { status } = asApiError(error);
    if (status !== 404 && status !== 409) throw error;
    return await create(name, content);
  }
}

/** The first line of the text, for lists. */
export function titleOf({ title, text }: Pick<QueryTab, "title" | "text">): string {
  if (!/^Query \d+$/.test(title)) return title;
  const line = text
    .trim()
    .split("\n")[0]
    ?.replaceAll(/[\u0000-\u001f\u007f]/g, " ")
    .slice(0, 80);
  return line || title;
}
