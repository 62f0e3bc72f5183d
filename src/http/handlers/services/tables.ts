/** What is in services. */
import type { Handlers } from "../../../api/operations.ts";
import type { tableOperations } from "../../../api/tables.ts";
import { found } from "../../../lib/errors.ts";
import type { Completions } from "../../../services/inventory/completions.ts";
import type { Inventories } from "../../../services/inventory/inventories.ts";
import type { TableFacts } from "../../../services/inventory/tables.ts";
import type { ServiceStore } from "../../../store/services/services.ts";
import type { Context } from "../../caller/context.ts";
import { findService } from "./service-users.ts";

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
        tables: facts.tables.map((table) => ({
          ...summaryOf(table),
          ...(withColumns ? { columns: table.columns.map(({ name, type }) => ({ name, type })) } : {}),
        })),
      };
    },
    getTable: async ({ params }) => {
      const service = await findService(services, params);
      const seen = await inventories.table(service, params.database, params.table);
      const table = found(seen?.facts, "Table", `${params.database}.${params.table}`);
      const { partitionKey, sortingKey, primaryKey, samplingKey, createStatement, changedAt, columns } = table;
      return {
        ...(seen === undefined ? { live: false } : { asOf: seen.asOf, live: seen.live }),
        ...summaryOf(table),
        ...(table.uncompressedBytes === null ? {} : { uncompressedBytes: table.uncompressedBytes }),
        ...(table.parts === null ? {} : { parts: table.parts }),
        ...{ partitionKey, sortingKey, primaryKey, samplingKey, createStatement, changedAt },
        columns: [...columns],
      };
    },
    getCompletions: async ({ params }) => {
      const known = (await inventories.completions(await findService(services, params))) ?? noCompletions;
      const { keywords, functions, tableFunctions, tableEngines, dataTypes, formats, settings, version } = known;
      return {
        version,
        keywords: [...keywords],
        functions: [...functions],
        tableFunctions: [...tableFunctions],
        tableEngines: [...tableEngines],
        dataTypes: [...dataTypes],
        formats: [...formats],
        settings: [...settings],
      };
    },
  };
}

function summaryOf({ database, name, engine, comment, rows, bytes }: TableFacts) {
  const sizes = { ...(rows === null ? {} : { rows }), ...(bytes === null ? {} : { bytes }) };
  return { database, name, engine, comment, ...sizes };
}
