import { call } from "../../api/client.ts";
import { openTab, selectTab, tabsStore } from "./query-tabs.ts";

/** Opens a saved query or draft, or the tab in which it is open. */
export async function openSaved(savedObjectId: string): Promise<void> {
  const open = tabsStore
    .get()
    .tabs.find(({ draft, saved }) => draft?.id === savedObjectId || saved?.id === savedObjectId);
  if (open !== undefined) return selectTab(open.id);
  const { kind, name, version, content } = await call("getSavedObject", { params: { savedObjectId } });
  const { text, params } = content as { text?: string; params?: Record<string, string> };
  const origin = { id: savedObjectId, version };
  const own = kind === "draft" ? { draft: origin } : { saved: origin, title: name };
  openTab({ text: text ?? "", params: params ?? {}, ...own });
}
