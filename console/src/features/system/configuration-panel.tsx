import { getRouteApi } from "@tanstack/react-router";
import { countText } from "../../lib/format.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Filters, Panel } from "../../parts/page.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { type Setting, type System, type SystemSearch, shownSettings, valueText } from "./system.ts";
import css from "./system.module.css";

const route = getRouteApi("/system");

type ConfigurationPanelProps = {
  readonly configuration: readonly Setting[];
  readonly limits: System["limits"];
};

/** Every setting of the server with its source, and the limits of an organization. */
export function ConfigurationPanel({ configuration, limits }: ConfigurationPanelProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<Record<keyof SystemSearch, string>>) =>
    void navigate({ search: (before) => ({ ...before, ...next }) as SystemSearch, replace: true });
  const shown = shownSettings(configuration, search);
  return (
    <>
      <Panel flush title="Limits of an organization">
        <Table label="Limits" columns={limitColumns} rows={limits} rowKey={({ name }) => name} />
      </Panel>
      <Filters>
        <SearchInput
          label="Filter settings"
          placeholder="Name, flag or variable"
          value={search.q ?? ""}
          onChange={(q) => change({ q })}
        />
        <InlineSelect
          label="Settings"
          value={search.settings ?? ""}
          options={[
            { value: "", label: "All settings" },
            { value: "changed", label: "Only those that are set" },
          ]}
          onChange={(settings) => change({ settings })}
        />
      </Filters>
      <Panel flush title="Configuration">
        {shown.length === 0 ? (
          <EmptyState
            title="No setting matches"
            actions={<Button onClick={() => change({ q: "", settings: "" })}>Show all</Button>}
          />
        ) : (
          <Table label="Configuration" columns={settingColumns} rows={shown} rowKey={({ name }) => name} />
        )}
      </Panel>
    </>
  );
}

const limitColumns: readonly Column<System["limits"][number]>[] = [
  { key: "name", header: "Limit", cell: ({ name }) => name },
  { key: "most", header: "At most", align: "end", cell: ({ most }) => countText(most) },
  { key: "setting", header: "Set by", wide: true, cell: ({ setting }) => <code>{setting}</code> },
];

const settingColumns: readonly Column<Setting>[] = [
  {
    key: "name",
    header: "Setting",
    cell: ({ flag, environment }) => (
      <div className={css.stack}>
        <code>{flag}</code>
        <span className={css.muted}>{environment}</span>
      </div>
    ),
  },
  {
    key: "value",
    header: "Value",
    cell: (setting) => (
      <span className={setting.value === undefined || setting.secret ? css.muted : css.value}>
        {valueText(setting)}
      </span>
    ),
  },
  {
    key: "origin",
    header: "From",
    nowrap: true,
    cell: ({ origin }) =>
      origin === "default" ? <span className={css.muted}>default</span> : <Badge tone="info">{origin}</Badge>,
  },
];
