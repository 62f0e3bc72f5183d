/** The form of a new pipe that is like another one. */

import { kindKeyOf } from "../../../../src/sources/contract/descriptions.ts";
import type { OperationResult } from "../../api/client.ts";
import { inputsOf, isSecret } from "./fields.ts";
import { emptyForm } from "./form.ts";
import { presetGroups } from "./presets.ts";
import type { KeptForm } from "./saved-draft.ts";

type Pipe = OperationResult<"getPipe">;

/** Another name, and another table unless several pipes may load into it; secrets are asked for again. */
export function cloneOf({ name, serviceId, source, destination, fieldMappings }: Pipe): KeptForm {
  const presets = presetGroups.flatMap((group) => group.presets);
  const kind = kindKeyOf(source);
  if (kind === undefined) return emptyForm;
  const { topics, streamName, tableMappings, ...rest } = (source[kind] ?? {}) as Record<string, unknown>;
  const values = Object.fromEntries(textsOf(rest));
  const preset = presets.find((one) => one.kind === kind && (one.type ?? values.type) === values.type);
  const types = new Map((destination.columns ?? []).map((column) => [column.name, column.type]));
  const secrets = inputsOf(kind, values, "connection").filter(({ path }) => isSecret(path));
  return {
    ...emptyForm,
    ...{ kind, serviceId, values, label: preset?.label ?? kind, name: `${name} copy` },
    topics: typeof topics === "string" ? topics.split(",") : typeof streamName === "string" ? [streamName] : [],
    tables: ((tableMappings ?? []) as Record<string, string>[]).map(
      ({ sourceSchemaName: schema = "public", sourceTable: table = "", targetTable, ...others }) => ({
        ...{ schema, table, others },
        target: `${targetTable}_copy`,
      }),
    ),
    database: destination.database ?? "default",
    table:
      !destination.table || destination.managedTable === false
        ? (destination.table ?? "")
        : `${destination.table}_copy`,
    isNewTable: destination.managedTable !== false,
    columns: fieldMappings.map(({ sourceField, destinationField }) => ({
      field: sourceField,
      name: destinationField,
      type: types.get(destinationField) ?? "String",
    })),
    sortingKey: destination.tableDefinition?.sortingKey ?? [],
    secrets: secrets.map(({ path }) => path),
  };
}

/** Values by path with dots, as the inputs hold them. */
function textsOf(members: Record<string, unknown>, prefix = ""): [string, string][] {
  return Object.entries(members).flatMap(([name, value]): [string, string][] => {
    if (value === null || value === undefined || Array.isArray(value)) return [];
    if (typeof value === "object") return textsOf(value as Record<string, unknown>, `${prefix}${name}.`);
    return [[`${prefix}${name}`, value === false ? "" : String(value)]];
  });
}
