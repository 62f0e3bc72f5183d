import { getRouteApi } from "@tanstack/react-router";
import { Badge } from "../../parts/badge.tsx";
import { NoMatch, useFilters } from "../../parts/filters.tsx";
import { Panel } from "../../parts/page.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import css from "./system.module.css";
import { type Setting, shownSettings, valueText } from "./system.ts";

const route = getRouteApi("/system");

/** Every setting of the server with its source. */
export function ConfigurationPanel({ configuration }: { readonly configuration: readonly Setting[] }) {
  const { search, change, field } = useFilters(route);
  const shown = shownSettings(configuration, search);
  return (
    <>
      <div className="row">
        <SearchInput label="Filter settings" placeholder="Name, flag or variable" {...field("q")} />
        <InlineSelect
          label="Settings"
          {...field("settings")}
          all="All settings"
          options={[{ value: "changed", label: "Only those that are set" }]}
        />
      </div>
      <Panel flush title="Configuration">
        <Table
          none={<NoMatch what="setting" onAll={() => change({ q: "", settings: "" })} />}
          label="Configuration"
          columns={settingColumns}
          rows={shown}
          rowKey={({ name }) => name}
        />
      </Panel>
    </>
  );
}

const settingColumns: readonly Column<Setting>[] = [
  { header: "Setting", cell: ({ flag }) => <code>{flag}</code> },
  {
    header: "Value",
    cell: (setting) => (
      <span className={valueText(setting) === "not set" || setting.secret ? "muted" : css.value}>
        {valueText(setting)}
      </span>
    ),
  },
  { header: "Variable", cell: ({ environment }) => <span className="muted">{environment}</span> },
  {
    header: "From",
    nowrap: true,
    cell: ({ origin }) =>
      origin === "default" ? <span className="muted">default</span> : <Badge tone="info">{origin}</Badge>,
  },
];
