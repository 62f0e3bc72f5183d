import { Plus } from "lucide-react";
import { useOperation } from "../../api/queries.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { Panel } from "../../parts/page.tsx";
import { pipeSummary } from "../../parts/pipe-summary.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";

const columns = [pipeSummary.name, pipeSummary.state, pipeSummary.rate, pipeSummary.lag];

/** The pipes that fill this service. */
export function ServicePipes({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("listAllPipes", { query: { serviceId, limit: 100 } });
  const add = (
    <ButtonLink to="/new-pipe" small icon={Plus}>
      New pipe
    </ButtonLink>
  );
  return (
    <Panel flush title="Pipes" actions={add}>
      <Answer query={query}>
        {({ pipes }) => (
          <Table
            none={
              <EmptyState title="No pipes">A pipe loads files, topics, streams or tables into this service.</EmptyState>
            }
            label="Pipes"
            columns={columns}
            rows={pipes}
            rowKey={({ id }) => id}
          />
        )}
      </Answer>
    </Panel>
  );
}
