import { Navigate, useParams } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { pipeAddress } from "../../lib/addresses.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";

/** Leads to the page of a pipe whose service the address does not name. */
export function PipeByIdPage() {
  const { pipeId = "" } = useParams({ strict: false });
  const query = useOperation("listAllPipes", { query: { limit: 1000 } }, { pace: "never" });
  return (
    <Answer query={query}>
      {({ pipes }) => {
        const pipe = pipes.find(({ id }) => id === pipeId);
        if (pipe !== undefined) return <Navigate {...pipeAddress(pipe.serviceId, pipe.id)} replace />;
        return (
          <EmptyState title="There is no such pipe" actions={<ButtonLink to="/pipes">All pipes</ButtonLink>}>
            It was deleted, or never existed.
          </EmptyState>
        );
      }}
    </Answer>
  );
}
