import { Link } from "@tanstack/react-router";
import { BookOpen, Database, Plus, Workflow } from "lucide-react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation, useOperations } from "../../api/queries.ts";
import { activityWords, actorWords, objectWords } from "../../lib/activity-words.ts";
import { bytesText, shortCountText } from "../../lib/format.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { late } from "../../parts/late.tsx";
import { Note } from "../../parts/note.tsx";
import { Count } from "../../parts/numbers.tsx";
import { Page, Panel, Tile, Tiles } from "../../parts/page.tsx";
import { type ListedPipe, pipeSummary } from "../../parts/pipe-summary.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { stateWord } from "../../parts/state-badge.tsx";
import { Answer, EmptyState, Skeleton } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { AttentionPanel } from "./attention-panel.tsx";
import css from "./overview.module.css";

/** Is everything all right? */
export function OverviewPage() {
  const services = useOperation("listServices", {});
  const pipes = useOperation("listAllPipes", { query: { limit: 1000, sort: "rowsPerSecond", order: "desc" } });
  return (
    <Page title="Overview">
      <Answer query={services} loading={<Skeleton lines={8} />}>
        {(foundServices) => (
          <Answer query={pipes} loading={<Skeleton lines={8} />}>
            {(foundPipes) =>
              foundServices.length === 0 ? (
                <FirstSteps />
              ) : (
                <>
                  <Numbers services={foundServices} pipes={foundPipes.pipes} />
                  <div className={css.columns}>
                    <div className="column">
                      <AttentionPanel services={foundServices} pipes={foundPipes.pipes} />
                      <InflowPanel pipes={foundPipes.pipes} />
                      <PipesPanel pipes={foundPipes.pipes} />
                    </div>
                    <EventsPanel />
                  </div>
                </>
              )
            }
          </Answer>
        )}
      </Answer>
    </Page>
  );
}

/** What to do when there is nothing yet. */
function FirstSteps() {
  return (
    <>
      <Note>There is nothing here yet. Three steps lead from nothing to a chart of your own data.</Note>
      <div className="cells pair">
        <div className={`surface ${css.card}`}>
          <Database aria-hidden />
          <h2>1. Create a service</h2>
          <p>A ClickHouse database of its own. It sleeps while nobody asks it, and wakes in a fraction of a second.</p>
          <ButtonLink to="/services/new" look="primary" needs="admin">
            Create service
          </ButtonLink>
        </div>
        <div className={`surface ${css.card}`}>
          <Workflow aria-hidden />
          <h2>2. Load data</h2>
          <p>
            From a bucket, a stream, a database or an application. You see a sample and the table before it is created.
          </p>
          <ButtonLink to="/new-pipe" needs="developer">
            New pipe
          </ButtonLink>
        </div>
        <div className={`surface ${css.card}`}>
          <BookOpen aria-hidden />
          <h2>3. Ask</h2>
          <p>In the SQL page, or with any ClickHouse client: the service's Connect button has snippets that work.</p>
          <ButtonLink to="/sql">Open SQL</ButtonLink>
        </div>
      </div>
    </>
  );
}

const columns: readonly Column<ListedPipe>[] = [
  pipeSummary.name,
  { header: "Service", cell: ({ serviceName }) => serviceName },
  pipeSummary.state,
  pipeSummary.rate,
  { ...pipeSummary.lag },
  { header: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
];

const shown = 8;

/** The busiest pipes. */
function PipesPanel({ pipes }: { readonly pipes: readonly ListedPipe[] }) {
  const actions = (
    <ButtonLink to="/new-pipe" needs="developer" small icon={Plus}>
      New pipe
    </ButtonLink>
  );
  return (
    <Panel flush title="Busiest pipes" actions={actions}>
      <Table
        none={
          <EmptyState title="No pipes yet">
            A pipe loads files, topics, streams, tables or what applications send into a service, each row exactly once.
          </EmptyState>
        }
        label="Pipes"
        columns={columns}
        rows={pipes.slice(0, shown)}
      />
    </Panel>
  );
}

type Activity = OperationResult<"listActivities">["activities"][number];

/** What happened last. */
function EventsPanel() {
  const query = useOperation("listActivities", { query: { limit: 10 } });
  return (
    <Panel flush title="Recent activity" actions={<Link to="/activity">All</Link>}>
      <Answer query={query}>
        {({ activities }) =>
          activities.length === 0 ? (
            <EmptyState title="Nothing happened yet" />
          ) : (
            <ul>
              {activities.map((activity) => (
                <Event key={activity.id} activity={activity} />
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  );
}

function Event({ activity }: { readonly activity: Activity }) {
  const { objectName, type, actorType, actorDetails, reason, createdAt } = activity;
  return (
    <li className={css.event}>
      <span className={css.subject}>
        {objectName ?? objectWords(activity.objectType)}{" "}
        <span className={`muted ${css.age}`}>{activityWords(type)}</span>
      </span>
      {reason !== undefined && (
        <span className="clamp muted" title={reason}>
          {reason}
        </span>
      )}
      <span className={`muted ${css.age}`}>
        <RelativeTime at={createdAt} /> · {actorWords(actorType, actorDetails)}
      </span>
    </li>
  );
}

type NumbersProps = {
  readonly services: OperationResult<"listServices">;
  readonly pipes: OperationResult<"listAllPipes">["pipes"];
};

/** Counts by state, and what flows in now. */
function Numbers({ services, pipes }: NumbersProps) {
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

type Pipe = OperationResult<"listAllPipes">["pipes"][number];

const HistoryChart = late(async () => (await import("../../charts/history-chart.tsx")).HistoryChart);

/** More lines cannot be told apart. */
const shownPipes = 6;
const height = 180;

/** Rows per second of the busiest pipes in the last hour. The chart is loaded after the page is there. */
function InflowPanel({ pipes }: { readonly pipes: readonly Pipe[] }) {
  // In an order that does not change with their rates, so that the colours stay.
  const shown = pipes.slice(0, shownPipes).toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  const inputs = shown.map(({ serviceId, id }) => ({ params: { serviceId, pipeId: id }, query: { step: 60 } }));
  const answers = useOperations("getPipeMetrics", inputs, "slow");
  const first = answers.find((answer) => answer !== undefined);
  if (shown.length === 0) return null;
  if (first === undefined)
    return (
      <Panel title="Rows in, last hour">
        <div className={css.chart} />
      </Panel>
    );
  const lines = shown.flatMap(({ name }, index) => {
    const values = answers[index]?.series.rowsPerSecond;
    return values === undefined
      ? []
      : [{ name, values: first.series.rowsPerSecond.map((_, at) => values[at] ?? null) }];
  });
  return (
    <Panel title="Rows in, last hour">
      <div className={css.chart}>
        {lines.length === 0 ? (
          <EmptyState title="Nothing flowed in" />
        ) : (
          <HistoryChart
            hideHeader
            name="Rows in per second, by pipe"
            unit="perSecond"
            height={height}
            history={first}
            lines={lines}
          />
        )}
      </div>
    </Panel>
  );
}
