import { countText } from "../../lib/format.ts";
import { Panel } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import type { System } from "./system.ts";

type Limit = System["limits"][number];

/** `memoryGb` as `memory in GiB`, `chartSources` as `chart sources`. */
function wordsOf(name: string): string {
  if (name === "memoryGb") return "memory in GiB";
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

const columns: readonly Column<Limit>[] = [
  { key: "name", header: "Limit", cell: ({ name }) => wordsOf(name) },
  { key: "most", header: "At most", align: "end", cell: ({ most }) => countText(most) },
  { key: "setting", header: "Set by", cell: ({ setting }) => <code>{setting}</code> },
];

/** What an organization may have at most. */
export function LimitsPanel({ limits }: { readonly limits: readonly Limit[] }) {
  return (
    <Panel flush title="Limits of each organization">
      <Table label="Limits" columns={columns} rows={limits} rowKey={({ name }) => name} />
    </Panel>
  );
}
