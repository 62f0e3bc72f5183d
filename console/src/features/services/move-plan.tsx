import type { OperationResult } from "../../api/client.ts";
import { bytesText, countText } from "../../lib/format.ts";
import { Note } from "../../parts/note.tsx";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { Facts } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";

type Plan = OperationResult<"planServiceMove">;
type PlannedObject = Plan["objects"][number];
type Problem = Plan["problems"][number];

/** What a move takes along, what it cannot, and why the server would refuse it. */
export function MovePlan({ plan }: { readonly plan: Plan }) {
  return (
    <>
      <Facts
        facts={[
          ["Objects", countText(plan.objects.length)],
          ["Rows", countText(plan.totalRows)],
          ["Size", `${bytesText(plan.totalBytes)} without compression`],
        ]}
      />
      {plan.objects.length > 0 && (
        <Table label="Objects to move" columns={columns} rows={plan.objects} rowKey={keyOf} />
      )}
      {plan.leftBehind.length > 0 && (
        <Note tone="warn">
          These cannot be moved: <Problems problems={plan.leftBehind} />
        </Note>
      )}
      {plan.problems.length > 0 && (
        <Note tone="bad">
          The server cannot receive the service: <Problems problems={plan.problems} />
        </Note>
      )}
    </>
  );
}

const kinds: Readonly<Record<PlannedObject["kind"], string>> = {
  table: "table",
  view: "view",
  materializedView: "materialized view",
  dictionary: "dictionary",
  function: "function",
};

const columns: readonly Column<PlannedObject>[] = [
  { key: "name", header: "Name", cell: (object) => <code>{nameOf(object)}</code> },
  { key: "kind", header: "Kind", cell: ({ kind }) => kinds[kind], nowrap: true },
  { key: "rows", header: "Rows", align: "end", cell: ({ rows }) => <Count exact value={rows} none="" /> },
  { key: "bytes", header: "Size", align: "end", cell: ({ bytes }) => <Bytes value={bytes} none="" /> },
];

function nameOf({ database, name }: PlannedObject): string {
  return database === undefined ? name : `${database}.${name}`;
}

function keyOf(object: PlannedObject): string {
  return `${object.kind} ${nameOf(object)}`;
}

function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  return (
    <ul>
      {problems.map(({ object, message }) => (
        <li key={`${object} ${message}`}>
          {object !== undefined && <code>{object}</code>}
          {object !== undefined && ": "}
          {message}
        </li>
      ))}
    </ul>
  );
}
