import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { activityWords, actorWords } from "../../lib/activity-words.ts";
import { inLabels } from "../../lib/source-words.ts";
import { Button } from "../../parts/button.tsx";
import { Bytes, Count, Duration } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import css from "./pipes.module.css";
import { usePipeParams } from "./use-pipe.ts";

type Activity = OperationResult<"listActivities">["activities"][number];
type Batch = OperationResult<"listPipeBatches">["batches"][number];

const activityColumns: readonly Column<Activity>[] = [
  { header: "When", nowrap: true, cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  { header: "What", cell: ({ type }) => <span className={css.sentence}>{activityWords(type)}</span> },
  { header: "Reason or fields", cell: ({ reason, fields }) => inLabels(reason ?? fields?.join(", ") ?? "") },
  { header: "Who", cell: ({ actorType, actorDetails }) => actorWords(actorType, actorDetails) },
];

const batchColumns: readonly Column<Batch>[] = [
  { header: "Durable", nowrap: true, cell: ({ finishedAt }) => <RelativeTime at={finishedAt} /> },
  { header: "From", cell: ({ lane }) => <code>{lane}</code> },
  { header: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} exact /> },
  { header: "Bytes", align: "end", cell: ({ bytes }) => <Bytes value={bytes} /> },
  { header: "Refused", align: "end", cell: (one) => <Count value={one.refusedRows} exact /> },
  { header: "Took", align: "end", cell: ({ durationMs }) => <Duration value={durationMs / 1000} /> },
];

/** State changes and edits, and what was written lately. */
export function PipeActivity() {
  const { pipeId } = usePipeParams();
  const activities = useOperation("listActivities", { query: { object: pipeId, limit: 50 } }, { keep: true });
  return (
    <>
      <Panel title="What happened" flush>
        <Answer query={activities}>
          {({ activities: shown }) => <Table label="Activities" columns={activityColumns} rows={shown} />}
        </Answer>
      </Panel>
      <Batches />
    </>
  );
}

function Batches() {
  const params = usePipeParams();
  const [cursor, setCursor] = useState<string>();
  const query = { limit: 25, ...(cursor === undefined ? {} : { cursor }) };
  const batches = useOperation("listPipeBatches", { params, query }, { keep: true });
  return (
    <Panel title="Batches" flush>
      <Answer query={batches}>
        {({ batches: shown, nextCursor }) =>
          shown.length === 0 ? (
            <EmptyState title="Nothing is written yet">A batch is written and recorded as a whole.</EmptyState>
          ) : (
            <>
              <Table label="Batches" columns={batchColumns} rows={shown} rowKey={(one) => `${one.lane} ${one.id}`} />
              <div className="more">
                {cursor !== undefined && <Button onClick={() => setCursor(undefined)}>Newest</Button>}
                {nextCursor !== undefined && <Button onClick={() => setCursor(nextCursor)}>Older</Button>}
              </div>
            </>
          )
        }
      </Answer>
    </Panel>
  );
}
