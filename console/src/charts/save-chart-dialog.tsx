import { useState } from "react";
import { call } from "../api/client.ts";
import { refetch, useOperation } from "../api/queries.ts";
import { FormDialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { named, Select } from "../parts/select.tsx";
import { toast } from "../parts/toast.tsx";
import { useAttempt } from "../parts/use-attempt.ts";
import { dashboardOf, emptyDashboard, newPanel, type PanelContent } from "./dashboard.ts";
import type { TimeRange } from "./time-range.ts";

type SaveChartDialogProps = {
  readonly content: PanelContent;
  /** A title to begin with. */
  readonly title: string;
  /** The range of a new dashboard. */
  readonly range?: TimeRange;
  readonly onClose: () => void;
};

const newDashboard = "new";

/** Adds the chart to a dashboard, new or old. */
export function SaveChartDialog({ content, title, range, onClose }: SaveChartDialogProps) {
  const [name, setName] = useState(title.slice(0, 120));
  const [target, setTarget] = useState(newDashboard);
  const { attempt, busy, error } = useAttempt();
  const dashboards = useOperation("listSavedObjects", { query: { kind: "dashboard" } }, { pace: "never" }).data ?? [];
  const save = async () => {
    const { id: dashboardId } = await add(target, name, content, range);
    await refetch("listSavedObjects", "getSavedObject");
    toast(`${name} is on the dashboard.`, "ok", { to: "/dashboards/$dashboardId", params: { dashboardId } });
    onClose();
  };
  return (
    <FormDialog
      {...{ title: "Save chart", action: "Save", busy, onClose, onSubmit: () => void attempt(save) }}
      needs="developer"
      refusal={name.trim() === "" ? "Type a title first." : undefined}
    >
      <TextField label="Title" value={name} onChange={setName} error={error?.message} />
      <Select
        label="Dashboard"
        value={target}
        options={[{ value: newDashboard, label: "A new dashboard" }, ...named(dashboards)]}
        onChange={setTarget}
      />
    </FormDialog>
  );
}

async function add(target: string, title: string, content: PanelContent, range: TimeRange | undefined) {
  const panel = newPanel(title, content);
  if (target === newDashboard) {
    const dashboard = { ...emptyDashboard, ...range, panels: [panel] };
    return await call("createSavedObject", { body: { kind: "dashboard", name: title, content: dashboard } });
  }
  const params = { savedObjectId: target };
  const { version, content: kept } = await call("getSavedObject", { params });
  const before = dashboardOf(kept);
  return await call("updateSavedObject", {
    params,
    body: { version, content: { ...before, panels: [...before.panels, panel] } },
  });
}
