import { call } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { bytesText, countText, durationText } from "../../lib/format.ts";
import { saveFile } from "../../lib/save-file.ts";
import { DownloadButton } from "../../parts/download-button.tsx";
import { Meter } from "../../parts/meter.tsx";
import { Note } from "../../parts/note.tsx";
import { Facts, Page, Panel, Tile, Tiles } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, Skeleton } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { ConfigurationPanel } from "./configuration-panel.tsx";
import { DiskPanel, EnginesPanel, LoopsPanel, WorkersPanel } from "./process-panels.tsx";
import { backupPlace, type System, shareTone, usedShare } from "./system.ts";

/** Whether the program itself is well. */
export function SystemPage() {
  const query = useOperation("getSystem", {});
  return (
    <Page
      title="System"
      actions={
        query.data !== undefined && (
          <DownloadButton save={() => saveDiagnostics(query.data)}>Download diagnostics</DownloadButton>
        )
      }
    >
      <Answer query={query} loading={<Panel>{<Skeleton lines={8} />}</Panel>}>
        {(system) => <Parts system={system} />}
      </Answer>
    </Page>
  );
}

function Parts({ system }: { readonly system: System }) {
  return (
    <>
      <Numbers system={system} />
      {!system.confinement.confined && <Note tone="warn">{system.confinement.sentence}</Note>}
      <div className="cells">
        <LoopsPanel loops={system.loops} />
        <div className="column">
          <EnginesPanel engines={system.engines} />
          <WorkersPanel workers={system.workers} />
          <DiskPanel disk={system.disk} />
        </div>
        <Panel title="Program">
          <Facts facts={factsOf(system)} />
          <Links />
        </Panel>
        <LimitsPanel limits={system.limits} />
      </div>
      <ConfigurationPanel configuration={system.configuration} />
    </>
  );
}

function Numbers({ system }: { readonly system: System }) {
  const share = usedShare(system.disk);
  const failing = system.loops.filter(({ consecutiveFailures }) => consecutiveFailures > 0).length;
  return (
    <Tiles>
      <Tile label="Uptime" note={`version ${system.version}`}>
        {durationText(system.uptimeSeconds)}
      </Tile>
      <Tile label="Loops that fail" note={`of ${system.loops.length}`}>
        {failing}
      </Tile>
      <Tile label="Running engines" note={`ClickHouse ${system.engineVersion}`}>
        {system.engines.length}
      </Tile>
      <Tile label="Control plane memory" note="resident">
        {bytesText(system.memoryBytes)}
      </Tile>
      <Tile
        label="Disk of the data directory"
        note={<Meter label="Used share of the disk" value={share} tone={shareTone(share)} />}
      >
        {bytesText(system.disk.freeBytes)} free
      </Tile>
    </Tiles>
  );
}

function factsOf(system: System): readonly (readonly [string, React.ReactNode])[] {
  return [
    ["Millrace", system.version],
    ["Node", system.nodeVersion],
    ["ClickHouse", `${system.engineVersion}, for services from their next start on`],
    ["Platform", system.platform],
    ["Process", system.pid],
    ["Started", <RelativeTime key="started" at={system.startedAt} />],
    ["Address", <code key="address">{system.baseUrl}</code>],
    ["Data directory", <code key="data">{system.dataDir}</code>],
    ["Backups in", <code key="backups">{backupPlace(system.configuration)}</code>],
    ["Confinement", system.confinement.sentence],
  ];
}

/** Pages of the server, outside of the console. */
function Links() {
  return (
    <div className="row">
      <a href="/docs">API reference</a>
      <a href="/openapi.json">OpenAPI document</a>
      <a href="/metrics">Metrics for Prometheus</a>
      <a href="/health">Health</a>
      <a href="/llms.txt">llms.txt</a>
    </div>
  );
}

/** Saves what somebody who helps needs to know. The API tells no secret, so that the file has none. */
async function saveDiagnostics(system: System): Promise<void> {
  const text = JSON.stringify(await diagnosticsOf(system), null, 2);
  saveFile("millrace-diagnostics.json", `${text}\n`, "application/json");
}

async function diagnosticsOf(system: System): Promise<unknown> {
  const [services, { pipes }, backups, { activities }] = await Promise.all([
    call("listServices", {}),
    call("listAllPipes", { query: { limit: 1_000 } }),
    call("listAllBackups", {}),
    call("listActivities", { query: { limit: 200 } }),
  ]);
  return { madeAt: new Date().toISOString(), system, services, pipes, backups: backups.slice(0, 100), activities };
}

type Limit = System["limits"][number];

/** `memoryGb` as `memory in GiB`, `chartSources` as `chart sources`. */
function wordsOf(name: string): string {
  if (name === "memoryGb") return "memory in GiB";
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

const columns: readonly Column<Limit>[] = [
  { header: "Limit", cell: ({ name }) => wordsOf(name) },
  { header: "At most", align: "end", cell: ({ most }) => countText(most) },
  { header: "Set by", cell: ({ setting }) => <code>{setting}</code> },
];

/** What an organization may have at most. */
function LimitsPanel({ limits }: { readonly limits: readonly Limit[] }) {
  return (
    <Panel flush title="Limits of each organization">
      <Table label="Limits" columns={columns} rows={limits} rowKey={({ name }) => name} />
    </Panel>
  );
}
