import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { type Dashboard, emptyDashboard, pipeTemplate, sourceTemplate } from "../../charts/dashboard.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Select } from "../../parts/select.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";

type Template = { readonly value: string; readonly label: string; readonly make: () => Dashboard };

/** Empty, or filled from what a source or a pipe offers. */
export function NewDashboardDialog({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const templates = useTemplates();
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState("empty");
  const { attempt, busy, error } = useAttempt();
  const template = templates.find(({ value }) => value === chosen) ?? (templates[0] as Template);
  const create = async () => {
    const content = template.make();
    const { id } = await call("createSavedObject", {
      body: { kind: "dashboard", name: name.trim() || template.label, content },
    });
    await refetch("listSavedObjects");
    await navigate({ to: "/dashboards/$dashboardId", params: { dashboardId: id } });
  };
  return (
    <FormDialog
      {...{ title: "New dashboard", action: "Create", busy, onClose, onSubmit: () => void attempt(create) }}
      needs="developer"
    >
      <Select
        label="Begin with"
        value={chosen}
        options={templates.map(({ value, label }) => ({ value, label }))}
        onChange={setChosen}
        hint="A template fills the dashboard with charts of a source, or with the health of a pipe."
      />
      <TextField label="Name" value={name} placeholder={template.label} onChange={setName} error={error?.message} />
    </FormDialog>
  );
}

function useTemplates(): readonly Template[] {
  const sources = useOperation("listSources", { params: {} }, { pace: "never" }).data?.data ?? [];
  const pipes = useOperation("listAllPipes", { query: { limit: 200 } }, { pace: "never" }).data;
  return [
    { value: "empty", label: "Empty dashboard", make: () => emptyDashboard },
    ...sources.map((source) => ({
      value: `source ${source.id}`,
      label: `Source ${source.name}`,
      make: () => sourceTemplate(source),
    })),
    ...(pipes?.pipes ?? []).map(({ id, name, serviceId }) => ({
      value: `pipe ${id}`,
      label: `Pipe ${name}`,
      make: () => pipeTemplate(serviceId, id),
    })),
  ];
}
