import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Download, Pencil, RefreshCw } from "lucide-react";
import { useEffect, useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { pausedStore } from "../../api/refresh.ts";
import { serverNow } from "../../api/server-time.ts";
import { type Dashboard, dashboardOf } from "../../charts/dashboard.ts";
import { RangePicker } from "../../charts/range-picker.tsx";
import { boundsOf, endText, type TimeRange } from "../../charts/time-range.ts";
import { saveFile } from "../../lib/save-file.ts";
import { useStore } from "../../lib/store.ts";
import { Button, ButtonLink, IconButton } from "../../parts/button.tsx";
import { Page } from "../../parts/page.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { EditDashboard } from "./edit-dashboard.tsx";
import { PanelGrid } from "./panel-grid.tsx";
import { type DashboardSearch, dashboardSearch, refreshes } from "./search.ts";
import { VariableBar } from "./variable-bar.tsx";

type Saved = OperationResult<"getSavedObject">;

/** Charts that were saved together. Asking again by itself wakes nothing and keeps nothing awake. */
export function DashboardPage() {
  const { dashboardId } = useParams({ strict: false }) as { dashboardId: string };
  const query = useOperation("getSavedObject", { params: { savedObjectId: dashboardId } }, { pace: "slow" });
  // What others save meanwhile is refused to overwrite, and does not undo what is edited.
  const [edited, setEdited] = useState<Saved>();
  return (
    <Answer query={query}>
      {(saved) => {
        if (edited !== undefined)
          return <EditDashboard begun={edited} newest={saved} onEnd={() => setEdited(undefined)} />;
        return (
          <ShowDashboard name={saved.name} dashboard={dashboardOf(saved.content)} onEdit={() => setEdited(saved)} />
        );
      }}
    </Answer>
  );
}

const refreshMs = { "10s": 10_000, "1m": 60_000 } as const;
const refreshNames = { off: "No refresh", "10s": "Every 10 s", "1m": "Every minute" } as const;

/** The time by which relative ranges are read; it moves with the refresh while the page is visible. */
function useNow(refresh: "off" | "10s" | "1m") {
  const [now, setNow] = useState(serverNow);
  const isPaused = useStore(pausedStore);
  useEffect(() => {
    if (refresh === "off" || isPaused) return;
    const timer = setInterval(() => !document.hidden && setNow(serverNow()), refreshMs[refresh]);
    return () => clearInterval(timer);
  }, [refresh, isPaused]);
  return [now, () => setNow(serverNow())] as const;
}

type ShowProps = { readonly name: string; readonly dashboard: Dashboard; readonly onEdit: () => void };

function ShowDashboard({ name, dashboard, onEdit }: ShowProps) {
  const search = useSearch({ strict: false }) as DashboardSearch;
  const navigate = useNavigate();
  const refresh = search.refresh ?? "off";
  const range: TimeRange = { from: search.from ?? dashboard.from, to: search.to ?? dashboard.to };
  const { variables } = dashboard;
  const values = search.is ?? {};
  const [now, ask] = useNow(refresh);
  const bounds = boundsOf(range, now);
  const change = (next: Partial<DashboardSearch>) =>
    void navigate({ to: ".", search: dashboardSearch({ ...search, ...next }) });
  return (
    <Page
      title={name}
      actions={
        <>
          <RangePicker
            range={range}
            onChange={(next) => {
              ask();
              change(next);
            }}
          />
          <InlineSelect
            label="Refresh"
            value={refresh}
            options={refreshes.map((value) => ({ value, label: refreshNames[value] }))}
            onChange={(value) => change({ refresh: value })}
          />
          <IconButton small label="Ask again" icon={RefreshCw} onClick={ask} />
          <IconButton small label="Export as JSON" icon={Download} onClick={() => exportDashboard(name, dashboard)} />
          <Button small needs="developer" icon={Pencil} onClick={onEdit}>
            Edit
          </Button>
        </>
      }
    >
      {dashboard.panels.length === 0 && (
        <EmptyState title="No charts yet" actions={<ButtonLink to="/explore">Explore</ButtonLink>}>
          Make a chart in Explore and save it to this dashboard.
        </EmptyState>
      )}
      {bounds === undefined ? (
        <EmptyState title="This is not a range of time">Choose another one above.</EmptyState>
      ) : (
        <>
          <VariableBar {...{ variables, values, bounds }} onChange={(is) => change({ is })} />
          <PanelGrid
            panels={dashboard.panels}
            {...{ range, bounds, variables, values }}
            onRange={(from, to) => change({ from: endText(from), to: endText(to), refresh: "off" })}
          />
        </>
      )}
    </Page>
  );
}

function exportDashboard(name: string, dashboard: Dashboard): void {
  const text = JSON.stringify({ name, ...dashboard }, undefined, 2);
  saveFile(`${name.replaceAll(/[^\w.-]+/g, "-") || "dashboard"}.json`, text, "application/json");
}
