import { useOperation } from "../../api/queries.ts";
import { tableName } from "../../editor/words.ts";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { Facts } from "../../parts/page.tsx";
import { Answer } from "../../parts/states.tsx";

type TableDialogProps = {
  readonly serviceId: string;
  readonly table: { readonly database: string; readonly name: string };
  readonly onClose: () => void;
};

/** Definition, keys, parts and sizes of a table. Reading them wakes nothing. */
export function TableDialog({ serviceId, table, onClose }: TableDialogProps) {
  const params = { serviceId, database: table.database, table: table.name };
  const query = useOperation("getTable", { params }, { pace: "never" });
  return (
    <Dialog open wide title={tableName(table)} onClose={onClose}>
      <Answer query={query}>
        {(found) => (
          <>
            <Facts
              facts={[
                ["Engine", found.engine],
                ["Rows", <Count key="rows" value={found.rows} exact />],
                ["On disk", <Bytes key="bytes" value={found.bytes} />],
                ["Uncompressed", <Bytes key="uncompressed" value={found.uncompressedBytes} />],
                ["Parts", <Count key="parts" value={found.parts} exact />],
                ["Partition key", found.partitionKey || "–"],
                ["Sorting key", found.sortingKey || "–"],
              ]}
            />
            <CodeBlock label="definition" text={found.createStatement} />
          </>
        )}
      </Answer>
    </Dialog>
  );
}
