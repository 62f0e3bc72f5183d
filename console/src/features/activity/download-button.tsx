import { Download } from "lucide-react";
import { useState } from "react";
import { type CallInput, call } from "../../api/client.ts";
import { saveFile } from "../../lib/save-file.ts";
import { Button } from "../../parts/button.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import type { Activity } from "./activity-search.ts";

type Query = NonNullable<CallInput<"listActivities">["query"]>;

/** Of all that match; the server keeps at most 100,000. */
const most = 10_000;

/** Saves the activities that match as lines of JSON, newest first. */
export function DownloadButton({ query }: { readonly query: Query }) {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const activities = await allOf(query);
      saveFile("activities.ndjson", activities.map((activity) => `${JSON.stringify(activity)}\n`).join(""));
      if (activities.length === most)
        toast(`The file has the newest ${most} activities; choose a range for older ones`);
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  return (
    <Button icon={Download} busy={busy} onClick={() => void save()}>
      Download NDJSON
    </Button>
  );
}

async function allOf(query: Query): Promise<Activity[]> {
  const found: Activity[] = [];
  let cursor: string | undefined;
  do {
    const { cursor: _page, ...filters } = query;
    const page = await call("listActivities", {
      query: { ...filters, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) },
    });
    found.push(...page.activities);
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length < most);
  return found.slice(0, most);
}
