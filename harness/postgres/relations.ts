/** Tables as the stream and the catalog describe them, for tests of what is made of their changes. */

import type { SourceTable } from "../../src/sources/relational-db/declaration/durable.ts";
import type { Relation } from "../../src/sources/relational-db/protocol/pgoutput.ts";
import { planTable, type TablePlan } from "../../src/sources/relational-db/tables/tables.ts";

const types = { int4: 23, text: 25 } as const;

/** A relation of `public` whose columns are `name type`; those in `key` are its replica identity. */
export function relationOf(oid: number, name: string, columns: readonly string[], key: readonly string[]): Relation {
  const described = columns.map((column) => {
    const [of, type] = column.split(" ") as [string, keyof typeof types];
    return { name: of, key: key.includes(of), typeOid: types[type], typmod: -1 };
  });
  return { kind: "relation", oid, schema: "public", name, replicaIdentity: "d", columns: described };
}

/** The plan of a pipe for a table as the relation describes it. */
export function planOf({ oid, name, columns }: Relation): TablePlan {
  const source: SourceTable = {
    oid,
    schema: "public",
    name,
    relkind: "r",
    replicaIdentity: "d",
    key: columns.filter((column) => column.key).map((column) => column.name),
    columns: columns.map(({ name: of, key, typeOid, typmod }, index) => ({
      name: of,
      attnum: index + 1,
      typeOid,
      typmod,
      typeName: typeOid === types.int4 ? "integer" : "text",
      type: { oid: typeOid, name: typeOid === types.int4 ? "int4" : "text", kind: "base", typmod, delimiter: "," },
      dimensions: 0,
      notNull: key,
      generated: false,
    })),
  };
  const mapping = { sourceSchemaName: "public", sourceTable: name, targetTable: name };
  return planTable(source, mapping, "default", { nullable: true, hardDelete: false });
}
