import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { bytesText } from "../../lib/format.ts";
import { Button } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import type { ErrorFilters } from "./error-types.ts";
import css from "./pipes.module.css";
import { usePipeParams } from "./use-pipe.ts";

type Row = OperationResult<"listPipeErrorRows">["rows"][number];

const columns: readonly Column<Row>[] = [
  { key: "time", header: "Refused", nowrap: true, cell: ({ time }) => <RelativeTime at={time} /> },
  { key: "origin", header: "Origin", cell: ({ origin }) => <code>{origin}</code> },
  { key: "position", header: "Position", cell: ({ position }) => <code>{position}</code> },
  { key: "row", header: "Row and reason", cell: (row) => <RowCell row={row} /> },
];

/** The rows of a group with their bytes, newest first. */
export function ErrorRows({ groupId, filters }: { readonly groupId: string; readonly filters: ErrorFilters }) {
  const params = usePipeParams();
  const [cursor, setCursor] = useState<string>();
  const query = { ...filters, group: groupId, limit: 20, ...(cursor === undefined ? {} : { cursor }) };
  const rows = useOperation("listPipeErrorRows", { params, query }, { pace: "never", keep: true });
  return (
    <Answer query={rows}>
      {({ rows: shown, nextCursor }) => (
        <>
          <Table label="Refused rows" columns={columns} rows={shown} rowKey={({ id }) => id} />
          {(cursor !== undefined || nextCursor !== undefined) && (
            <div className="more">
              {cursor !== undefined && <Button onClick={() => setCursor(undefined)}>Newest</Button>}
              {nextCursor !== undefined && <Button onClick={() => setCursor(nextCursor)}>Older</Button>}
            </div>
          )}
        </>
      )}
    </Answer>
  );
}

function RowCell({ row }: { readonly row: Row }) {
  const { message, raw, rawFormat, rawSizeBytes, triedAt, replayedAt, replayedBy } = row;
  return (
    <div className={css.groupText}>
      <span>{message}</span>
      <pre className="raw">{raw}</pre>
      <span className="muted">
        {bytesText(rawSizeBytes)}
        {rawFormat === "hex" && ", shown as hex"}
        {triedAt !== undefined && (
          <>
            {" "}
            · tried again <RelativeTime at={triedAt} />
          </>
        )}
        {replayedAt !== undefined && (
          <>
            {" "}
            · replayed <RelativeTime at={replayedAt} /> by {replayedBy ?? "a key"}
          </>
        )}{" "}
        <CopyButton text={raw} label="Copy row" />
      </span>
    </div>
  );
}
