import { Link } from "@tanstack/react-router";
import type { OperationResult } from "../../api/client.ts";
import { bytesText, shortCountText } from "../../lib/format.ts";
import { Tile, Tiles } from "../../parts/page.tsx";
import { stateWord } from "../../parts/state-badge.tsx";
import css from "./overview.module.css";

type NumbersProps = {
  readonly services: OperationResult<"listServices">;
  readonly pipes: OperationResult<"listAllPipes">["pipes"];
};

/** Counts by state, and what flows in now. */
export function Numbers({ services, pipes }: NumbersProps) {
  const rows = sum(pipes.map(({ rates }) => rates?.rowsPerSecond));
  const bytes = sum(pipes.map(({ rates }) => rates?.bytesPerSecond));
  const backups = services.map(({ lastBackup }) => lastBackup);
  const proven = backups.filter((backup) => backup?.status === "done" && backup.verification === "passed").length;
  const disk = sum(services.map(({ diskUsedBytes }) => diskUsedBytes));
  return (
    <Tiles>
      <Tile label="Services" note={<States to="/services" states={services.map(({ state }) => state)} />}>
        {services.length}
      </Tile>
      <Tile label="Pipes" note={<States to="/pipes" states={pipes.map(({ state }) => state)} />}>
        {pipes.length}
      </Tile>
      <Tile label="Rows in, per second" note={`${bytesText(bytes)}/s`}>
        {shortCountText(rows)}
      </Tile>
      <Tile label="Verified backups" note={<Link to="/backups">newest of each service</Link>}>
        {proven} of {services.length}
      </Tile>
      <Tile label="Disk" note="of all tables">
        {bytesText(disk)}
      </Tile>
    </Tiles>
  );
}

function States({ to, states }: { readonly to: "/services" | "/pipes"; readonly states: readonly string[] }) {
  const counts = Map.groupBy(states, (state) => state);
  if (states.length === 0) return <>none yet</>;
  return (
    <span className={css.states}>
      {[...counts].map(([state, members]) => (
        <Link key={state} to={to} search={{ state }}>
          {members.length} {stateWord(state).toLowerCase()}
        </Link>
      ))}
    </span>
  );
}

function sum(values: readonly (number | undefined)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}
