/** What is in services. */
import { completions, type tableOperations, tableRecord, tableSummary } from "../../../api/tables.ts";
import { found } from "../../../lib/errors.ts";
import type { Completions } from "../../../services/inventory/completions.ts";
import type { Inventories } from "../../../services/inventory/inventories.ts";
import type { Stores } from "../../../store/open.ts";
import { viewOf } from "../../views/view-of.ts";
import { findService, type Management } from "../lookups.ts";

const summaryView = viewOf(tableSummary);
const tableView = viewOf(tableRecord);
const completionsView = viewOf(completions);

const noCompletions: Completions = {
  version: "",
  keywords: [],
  functions: [],
  tableFunctions: [],
  tableEngines: [],
  dataTypes: [],
  formats: [],
  settings: [],
};

export function tableHandlers(
  deps: Pick<Stores, "services"> & { readonly inventories: Pick<Inventories, "tables" | "table" | "completions"> },
): Management<keyof typeof tableOperations> {
  const { inventories } = deps;
  return {
    listTables: async ({ params, query }) => {
      const withColumns = query.columns === "true";
      const seen = await inventories.tables(await findService(deps, params), withColumns);
      if (seen === undefined) return { live: false, truncated: false, databases: [], tables: [] };
      const { asOf, live, facts } = seen;
      return {
        asOf,
        live,
        truncated: facts.truncated,
        databases: [...facts.databases],
        tables: facts.tables.map((table) =>
          summaryView({
            ...table,
            columns: withColumns ? table.columns.map(({ name, type }) => ({ name, type })) : null,
          }),
        ),
      };
    },
    getTable: async ({ params }) => {
      const service = await findService(deps, params);
      const seen = await inventories.table(service, params.database, params.table);
      const table = found(seen?.facts, "Table", `${params.database}.${params.table}`);
      return tableView({ ...table, live: seen?.live ?? false, asOf: seen?.asOf });
    },
    getCompletions: async ({ params }) =>
      completionsView((await inventories.completions(await findService(deps, params))) ?? noCompletions),
  };
}
