// `fast` needs nothing but node (part of `npm run check`), and `costs` compares processor times; `real` starts engines,
// brokers and servers on loopback, and opens the console of such a server in Chromium; `promises` is a part of it: for
// each promise of the README at least one file that shows it on real systems. `npm test` runs `fast`, `costs` and
// `promises`, `npm run test:all` everything. A suite whose peer cannot be had prints why it is skipped.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { TestOrder } from "./scripts/test-order.ts";

// Servers and commands are started hundreds of times: half of their processor time would go into reading our sources.
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules", ".cache", "millrace-compile") };

const promises = [
  // Managed databases: they start, stop, sleep, wake, and survive kill -9; the endpoint is a ClickHouse server's.
  "test/real/services.test.ts",
  "test/real/handoff.test.ts",
  "test/real/engine/protocol.test.ts",
  "test/real/external/service.test.ts",
  "test/real/metadata/postgres.test.ts",
  // Each kind of source, exactly once.
  "test/real/pipes/pipes.test.ts",
  "test/real/kafka/group.test.ts",
  "test/real/kinesis/kinesis.test.ts",
  "test/real/postgres/postgres.test.ts",
  "test/real/postgres/faults.test.ts",
  // Backups that are proven to restore.
  "test/real/backups/pipes.test.ts",
  "test/real/backups/backups.test.ts",
  // Chart series, and the command line from the first service to its end.
  "test/real/charts/charts.test.ts",
  "test/real/cli/walk-through.test.ts",
  // The walls: statements that are judged, the kernel behind them, addresses.
  "src/engine/sql/guard.real.test.ts",
  "test/real/engine/attacks.test.ts",
  "test/real/engine/wall.test.ts",
  "test/real/outgoing.test.ts",
  "test/browser/services.test.ts",
];

/** Workers of projects whose tests wait for servers and pauses more than they compute, also on two processors. */
const waiting = 3;

const withServers = {
  globalSetup: ["test/browser/setup.ts"],
  exclude: ["node_modules/**"],
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  env,
  // One process reads our modules once for all its files of one project: what runs together is one project therefore.
  isolate: false,
  maxWorkers: waiting,
  // After the fast ones, which keep all processors busy.
  sequence: { groupOrder: 2 },
};

export default defineConfig({
  test: {
    reporters: ["default"],
    globalSetup: ["harness/test-run.ts"],
    sequence: { sequencer: TestOrder },
    projects: [
      {
        test: {
          name: "fast",
          include: ["{src,scripts,console/src}/**/*.test.ts", "test/{api,architecture,contract}/**/*.test.ts"],
          exclude: ["**/*.real.test.ts", "node_modules/**"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 60_000 } },
          env,
          isolate: false,
          sequence: { groupOrder: 1 },
          // A third of them wait for databases and time limits at any moment.
          maxWorkers: Math.ceil(1.5 * availableParallelism()),
        },
      },
      {
        // Processor time of hot paths: alone, and each file in a process that has compiled nothing else.
        test: {
          name: "costs",
          include: ["test/costs/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          env,
          maxWorkers: 1,
        },
      },
      { test: { ...withServers, name: "promises", include: promises } },
      {
        test: {
          ...withServers,
          name: "real",
          include: ["src/**/*.real.test.ts", "test/real/**/*.test.ts", "test/browser/**/*.test.ts"],
        },
      },
      {
        // Installs the package from a registry: a command of its own, `npm run test:package`.
        test: {
          name: "package",
          include: ["test/package/**/*.test.ts"],
          // npm keeps compiled code in the temporary folder otherwise.
          env,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
