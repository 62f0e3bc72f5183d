import { Link, useNavigate } from "@tanstack/react-router";
import { LayoutDashboard, Plus, Upload } from "lucide-react";
import { useRef, useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { type Dashboard, dashboardOf, emptyDashboard, pipeTemplate, sourceTemplate } from "../../charts/dashboard.ts";
import { Button } from "../../parts/button.tsx";
import { DeleteButton, FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Select } from "../../parts/select.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import { toastError } from "../../parts/toast.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";

type Summary = OperationResult<"listSavedObjects">[number];

export function DashboardsPage() {
  const query = useOperation("listSavedObjects", { query: { kind: "dashboard" } }, { pace: "slow" });
  const [isNew, setNew] = useState(false);
  const create = (
    <Button look="primary" needs="developer" icon={Plus} onClick={() => setNew(true)}>
      New dashboard
    </Button>
  );
  return (
    <Page
      title="Dashboards"
      actions={
        <>
          <ImportButton />
          {create}
        </>
      }
    >
      <Answer query={query}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState icon={LayoutDashboard} title="No dashboard yet" actions={create}>
              A dashboard keeps charts together. Begin with a template for a source or a pipe, or save a chart in
              Explore.
            </EmptyState>
          ) : (
            <Panel flush>
              <Table label="Dashboards" columns={columns} rows={list} />
            </Panel>
          )
        }
      </Answer>
      {isNew && <NewDashboardDialog onClose={() => setNew(false)} />}
    </Page>
  );
}

const columns: readonly Column<Summary>[] = [
  {
    header: "Name",
    cell: ({ id, name }) => (
      <Link to="/dashboards/$dashboardId" params={{ dashboardId: id }} className={mainLinkClass}>
        {name}
      </Link>
    ),
  },
  { header: "Changed by", cell: ({ updatedBy }) => updatedBy },
  { header: "Changed", nowrap: true, cell: ({ updatedAt }) => <RelativeTime at={updatedAt} /> },
  {
    header: "",
    align: "end",
    cell: ({ id, name }) => (
      <DeleteButton name={name} onDelete={() => remove(id)}>
        Its charts go with it. Sources and tables stay.
      </DeleteButton>
    ),
  },
];

async function remove(savedObjectId: string): Promise<void> {
  await call("deleteSavedObject", { params: { savedObjectId } });
  await refetch("listSavedObjects");
}

/** Takes the file that a dashboard was exported to. */
function ImportButton() {
  const input = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const read = async (file: File) => {
    try {
      const { name, ...content } = JSON.parse(await file.text()) as { name?: unknown };
      const dashboard = dashboardOf(content);
      if (dashboard.panels.length === 0) throw new Error(`${file.name} has no panels of a dashboard.`);
      const body = {
        kind: "dashboard" as const,
        name: typeof name === "string" ? name : file.name.replace(/\.json$/, ""),
        content: dashboard,
      };
      const { id } = await call("createSavedObject", { body });
      await refetch("listSavedObjects");
      await navigate({ to: "/dashboards/$dashboardId", params: { dashboardId: id } });
    } catch (error) {
      toastError(error instanceof SyntaxError ? new Error(`${file.name} is not JSON.`) : error);
    }
  };
  return (
    <>
      <Button needs="developer" icon={Upload} onClick={() => input.current?.click()}>
        Import
      </Button>
      <input
        ref={input}
        type="file"
        accept="application/json,.json"
        hidden
        aria-label="File of a dashboard"
        onChange={(event) => {
          const file = event.target.files?.[0];
          if (file !== undefined) void read(file);
          event.target.value = "";
        }}
      />
    </>
  );
}

type Template = { readonly value: string; readonly label: string; readonly make: () => Dashboard };

/** Empty, or filled from what a source or a pipe offers. */
function NewDashboardDialog({ onClose }: { readonly onClose: () => void }) {
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
