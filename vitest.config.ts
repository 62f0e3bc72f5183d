// `fast` needs nothing but node (part of `npm run check`); `real` starts engines, brokers and servers on loopback;
// `browser` opens the console of such a server in Chromium. A suite whose peer cannot be had prints why it is skipped.
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { TestOrder } from "./scripts/test-order.ts";

// Servers and commands are started hundreds of times: half of their processor time would go into reading our sources.
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules", ".cache", "millrace-compile") };

/** Each takes the better part of a minute: together they would take the whole run beyond 25 minutes on two cores. */
const long = [
  "test/real/backups/locations.test.ts",
  "test/real/kafka/cluster.test.ts",
  "test/real/kafka/pressure.test.ts",
  "test/real/objects/bzip2.test.ts",
  "test/real/postgres/memory.test.ts",
];
// biome-ignore lint/style/noProcessEnv: it chooses the suites of this run.
const isLong = process.env.LARGE === "1";
if (!isLong) console.log(`skipped, because they take long (LARGE=1 runs them): ${long.join(", ")}`);

/** Workers of projects whose tests wait for servers and pauses more than they compute, also on two processors. */
const waiting = 3;

export default defineConfig({
  test: {
    reporters: ["default"],
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
          // Before the real ones, because these keep all processors busy.
          sequence: { groupOrder: 1 },
          maxWorkers: "100%",
        },
      },
      {
        test: {
          name: "real",
          include: ["src/**/*.real.test.ts", "test/real/**/*.test.ts"],
          exclude: ["node_modules/**", ...(isLong ? [] : long)],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 60_000 } },
          env,
          sequence: { groupOrder: 2 },
          maxWorkers: waiting,
        },
      },
      {
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          globalSetup: ["test/browser/setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
          env,
          // Together with the real ones: see `TestOrder`.
          sequence: { groupOrder: 2 },
          maxWorkers: waiting,
        },
      },
      {
        // Installs the package from a registry: a command of its own, `npm run test:package`.
        test: {
          name: "package",
          include: ["test/package/**/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
