/** What a source under test is given: nothing happens, unless a test says what does. */
import type { Json, SourceContext } from "../../src/sources/source.ts";
import { anyNetwork } from "../network/network.ts";

export const testDestination = {
  database: "default",
  table: "t",
  columns: [{ name: "a", type: "String", sourceField: "a" }],
};

export function testContext(own: Partial<SourceContext> = {}): SourceContext {
  return {
    network: anyNetwork,
    pipeId: "pipe",
    epoch: 0,
    settings: {},
    destination: testDestination,
    concurrency: 2,
    memoryGb: 1,
    sourceSilenceMs: 30_000,
    replica: { index: 0, count: 1 },
    marks: async () => new Map(),
    note: async () => {},
    reject: async () => {},
    answered: () => {},
    copying: () => {},
    warn: () => {},
    report: () => {},
    command: async () => {},
    refusal: () => undefined,
    query: async () => [],
    ...own,
  };
}

/** Marks that outlive the source, as in the ledger. */
export function keptMarks(marks: Map<string, Json>): Pick<SourceContext, "marks" | "note"> {
  return {
    marks: async (keys) => new Map(keys.flatMap((key) => (marks.has(key) ? [[key, marks.get(key) ?? null]] : []))),
    note: async (noted) => {
      for (const [key, mark] of Object.entries(noted)) marks.set(key, mark);
    },
  };
}
