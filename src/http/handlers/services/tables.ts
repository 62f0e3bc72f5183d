/** What is in services. */
import type { Handlers } from "../../../api/operations.ts";
import { completions, type tableOperations, tableRecord, tableSummary } from "../../../api/tables.ts";
import { found } from "../../../lib/errors.ts";
import type { Completions } from "../../../services/inventory/completions.ts";
import type { Inventories } from "../../../services/inventory/inventories.ts";
import type { ServiceStore } from "../../../store/services/services.ts";
import type { Context } from "../../caller/context.ts";
import { viewOf } from "../../views/view-of.ts";
import { findService } from "./service-users.ts";

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

export function tableHandlers(deps: {
  services: ServiceStore;
  inventories: Pick<Inventories, "tables" | "table" | "completions">;
}): Handlers<typeof tableOperations, Context> {
  const { services, inventories } = deps;
  return {
    listTables: async ({ params, query }) => {
      const withColumns = query.columns === "true";
      const seen = await inventories.tables(await findService(services, params), withColumns);
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
      const service = await findService(services, params);
      const seen = await inventories.table(service, params.database, params.table);
      const table = found(seen?.facts, "Table", `${params.database}.${params.table}`);
      return tableView({ ...table, live: seen?.live ?? false, asOf: seen?.asOf });
    },
    getCompletions: async ({ params }) =>
      completionsView((await inventories.completions(await findService(services, params))) ?? noCompletions),
  };
}
