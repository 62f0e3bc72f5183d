/** An engine host and the charts room on it, without the HTTP edge: for tests and benchmarks of charts. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { z } from "zod";
import type { sourceBody } from "../../src/api/chart-sources.ts";
import { chartQuery } from "../../src/api/charts.ts";
import type { Format } from "../../src/charts/answer/answer.ts";
import type { Charts } from "../../src/charts/charts.ts";
import { type ChartsRoom, chartsOn } from "../../src/charts/open.ts";
import type { Outcome } from "../../src/charts/outcome.ts";
import { type ChartLimits, Turns } from "../../src/charts/turns.ts";
import { type ClickHouseAddress, ClickHouseClient } from "../../src/clickhouse/client.ts";
import { spawnEngineHost } from "../../src/engine/spawn.ts";

export type ChartEngine = AsyncDisposable & { readonly client: ClickHouseClient; readonly address: ClickHouseAddress };

/** An engine host in a temporary directory, which is deleted with it. */
export async function startEngine(options: { maxMemoryBytes?: number } = {}): Promise<ChartEngine> {
  const dir = mkdtempSync(join(tmpdir(), "millrace-charts-"));
  const host = await spawnEngineHost({
    dataDir: join(dir, "data"),
    runDir: join(dir, "run"),
    maxMemoryBytes: options.maxMemoryBytes ?? 3 * 2 ** 30,
  });
  const client = new ClickHouseClient(host.address);
  return {
    client,
    address: host.address,
    [Symbol.asyncDispose]: async () => {
      client.close();
      await host.stop(2000);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export type SourceInput = z.input<typeof sourceBody>;
export type RequestInput = z.input<typeof chartQuery>;
// biome-ignore lint/suspicious/noExplicitAny: answers are looked at member by member
export type AnswerBody = { data: any[]; truncated?: boolean };

const serviceId = "5e7f1c1a-6c1d-4d56-9a57-3d0f6f6a2b11";

export type ChartRoom = {
  readonly charts: Charts;
  readonly room: ChartsRoom;
  /** Answers a request as JSON, or throws the AppError. */
  guardQuery(request: RequestInput): Promise<AnswerBody>;
  /** The same with everything else that is known of the response. */
  outcome(
    request: RequestInput,
    options?: { format?: Format; known?: string[]; signal?: AbortSignal; token?: string },
  ): Promise<Outcome & { readonly text: string }>;
};

/** Sources by id; all of them are on the given engine. */
export function chartRoom(
  client: ClickHouseClient,
  sources: Record<string, SourceInput>,
  limits: Partial<ChartLimits> = {},
): ChartRoom {
  const stamp = "2024-01-01T00:00:00.000Z";
  const turns = new Turns({
    clientFor: async () => ({ client, release: () => {} }),
    limits: {
      timeMs: 20_000,
      memoryBytes: 2 * 2 ** 30,
      rowsToRead: 1e10,
      runningPerToken: 8,
      waitingPerToken: 256,
      ...limits,
    },
  });
  const room = chartsOn({
    turns,
    sources: {
      list: async () => [],
      find: async (_organization, id) => {
        const body = Object.hasOwn(sources, id) ? sources[id] : undefined;
        if (body === undefined) return undefined;
        return {
          id,
          organizationId: "o",
          serviceId,
          name: body.name,
          kind: body.kind,
          definition: body,
          version: 1,
          createdAt: stamp,
          updatedAt: stamp,
        };
      },
    },
  });
  const { charts } = room;
  const outcome: ChartRoom["outcome"] = async (request, options = {}) => {
    const answer = await charts.query(chartQuery.parse(request), {
      organizationId: "o",
      credentialId: options.token ?? "token",
      signal: options.signal ?? new AbortController().signal,
      format: options.format ?? "json",
      known: options.known ?? [],
    });
    const pieces: string[] = [];
    for await (const piece of answer.body ?? []) pieces.push(String(piece));
    return { ...answer, text: pieces.join("") };
  };
  return {
    charts,
    room,
    outcome,
    guardQuery: async (request) => JSON.parse((await outcome(request)).text) as AnswerBody,
  };
}
