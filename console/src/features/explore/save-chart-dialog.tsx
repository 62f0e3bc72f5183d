import { useState } from "react";
import { call } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { dashboardOf, emptyDashboard, newChartPanel } from "../../charts/dashboard.ts";
import { type ChartDefinition, seriesNames } from "../../charts/definition.ts";
import type { TimeRange } from "../../charts/time-range.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { named, Select } from "../../parts/select.tsx";
import { toast } from "../../parts/toast.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";

type SaveChartDialogProps = {
  readonly chart: ChartDefinition;
  readonly range: TimeRange;
  readonly onClose: () => void;
};

const newDashboard = "new";

/** Adds the chart to a dashboard, new or old. */
export function SaveChartDialog({ chart, range, onClose }: SaveChartDialogProps) {
  const [name, setName] = useState(seriesNames(chart.series).join(", ").slice(0, 120));
  const [target, setTarget] = useState(newDashboard);
  const { attempt, busy, error } = useAttempt();
  const dashboards = useOperation("listSavedObjects", { query: { kind: "dashboard" } }, { pace: "never" }).data ?? [];
  const save = async () => {
    await add(target, name, chart, range);
    await refetch("listSavedObjects", "getSavedObject");
    toast(`${name} is on the dashboard.`);
    onClose();
  };
  return (
    <FormDialog
      {...{ title: "Save chart", action: "Save", busy, onClose, onSubmit: () => void attempt(save) }}
      needs="developer"
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

async function add(target: string, title: string, chart: ChartDefinition, range: TimeRange): Promise<void> {
  const panel = newChartPanel(title, chart);
  if (target === newDashboard) {
    const content = { ...emptyDashboard, ...range, panels: [panel] };
    await call("createSavedObject", { body: { kind: "dashboard", name: title, content } });
    return;
  }
  const params = { savedObjectId: target };
  const { version, content } = await call("getSavedObject", { params });
  const before = dashboardOf(content);
  await call("updateSavedObject", {
    params,
    body: { version, content: { ...before, panels: [...before.panels, panel] } },
  });
}
