import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { tableName } from "../../editor/words.ts";
import { late } from "../../parts/late.tsx";
import { Answer } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { openTab } from "./query-tabs.ts";
import { SchemaTree } from "./schema-tree.tsx";
import css from "./sql.module.css";

const SavedQueries = late(async () => (await import("./saved-queries.tsx")).SavedQueries);
const QueryHistory = late(async () => (await import("./query-history.tsx")).QueryHistory);

type View = "tables" | "saved" | "history";

type SidePanelProps = { readonly serviceId: string; readonly onInsert: (text: string) => void };

/** What is in the service, what was saved, and what has run. */
export function SidePanel({ serviceId, onInsert }: SidePanelProps) {
  const tables = useTables(serviceId);
  const preview = (table: OperationResult<"listTables">["tables"][number]) =>
    openTab({ text: `SELECT *\nFROM ${tableName(table)}\nLIMIT 100` });
  const [shown, setShown] = useState<View>("tables");
  const tabs = [
    {
      value: "tables" as const,
      label: "Tables",
      content: (
        <Answer query={tables}>
          {(data) => <SchemaTree tables={data} {...{ serviceId, onInsert }} onPreview={preview} />}
        </Answer>
      ),
    },
    { value: "saved" as const, label: "Saved", content: <SavedQueries /> },
    {
      value: "history" as const,
      label: "History",
      content: <QueryHistory serviceId={serviceId} onOpen={(text) => openTab({ text })} />,
    },
  ];
  return (
    <aside className={css.side} aria-label="Tables and queries">
      <Tabs
        label="Tables and queries"
        value={shown}
        onChange={setShown}
        styles={{ list: css.tabList, tab: `plain ${css.tab}`, panel: css.sideBody }}
        tabs={tabs}
      />
    </aside>
  );
}

/** The same question everywhere on the page is one request. */
export function useTables(serviceId: string) {
  return useOperation(
    "listTables",
    { params: { serviceId }, query: { columns: "true" } },
    { pace: "slow", keep: true },
  );
}
