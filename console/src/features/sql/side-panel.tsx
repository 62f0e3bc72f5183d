import { Tabs } from "@base-ui/react/tabs";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { tableName } from "../../editor/words.ts";
import { Answer } from "../../parts/states.tsx";
import { QueryHistory } from "./query-history.tsx";
import { openTab } from "./query-tabs.ts";
import { SavedQueries } from "./saved-queries.tsx";
import { SchemaTree } from "./schema-tree.tsx";
import css from "./sql.module.css";

type SidePanelProps = { readonly serviceId: string; readonly onInsert: (text: string) => void };

/** What is in the service, what was saved, and what has run. */
export function SidePanel({ serviceId, onInsert }: SidePanelProps) {
  const tables = useTables(serviceId);
  const preview = (table: OperationResult<"listTables">["tables"][number]) =>
    openTab({ text: `SELECT *\nFROM ${tableName(table)}\nLIMIT 100` });
  return (
    <aside className={css.side} aria-label="Tables and queries">
      <Tabs.Root defaultValue="tables">
        <Tabs.List className={css.tabList} aria-label="Tables and queries">
          <Tabs.Tab value="tables" className={css.tab}>
            Tables
          </Tabs.Tab>
          <Tabs.Tab value="saved" className={css.tab}>
            Saved
          </Tabs.Tab>
          <Tabs.Tab value="history" className={css.tab}>
            History
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="tables" className={css.sideBody}>
          <Answer query={tables}>
            {(data) => <SchemaTree tables={data} onInsert={onInsert} onPreview={preview} />}
          </Answer>
        </Tabs.Panel>
        <Tabs.Panel value="saved" className={css.sideBody}>
          <SavedQueries />
        </Tabs.Panel>
        <Tabs.Panel value="history" className={css.sideBody}>
          <QueryHistory serviceId={serviceId} onOpen={(text) => openTab({ text })} />
        </Tabs.Panel>
      </Tabs.Root>
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
