import { copyText } from "../../parts/copy-button.tsx";
import { toast } from "../../parts/toast.tsx";
import type { QueryTab } from "./query-tabs.ts";

/** Copies a link that opens the statement. */
export async function share(serviceId: string, { text, params, saved }: QueryTab): Promise<void> {
  const search = new URLSearchParams({ service: serviceId });
  if (saved !== undefined) search.set("saved", saved.id);
  else {
    search.set("q", text);
    if (Object.keys(params).length > 0) search.set("p", JSON.stringify(params));
  }
  const isCopied = await copyText(`${location.origin}/console/sql?${search}`);
  toast(
    isCopied
      ? "The link is copied. It has the statement and its parameters, not the result."
      : "The browser refuses to copy.",
    isCopied ? "ok" : "warn",
  );
}
