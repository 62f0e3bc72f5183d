/** What a source under test is given: nothing happens, unless a test says what does. */
import type { Json } from "../../src/lib/json.ts";
import { StoredForms } from "../../src/pipes/durable.ts";
import type { DurableShapes } from "../../src/sources/durable.ts";
import type { Durable, SourceContext } from "../../src/sources/source.ts";
import { anyNetwork } from "../network/network.ts";

export const testDestination = {
  database: "default",
  table: "t",
  columns: [{ name: "a", type: "String", sourceField: "a" }],
};

export function testContext<D extends Durable = Durable>(own: Partial<SourceContext<D>> = {}): SourceContext<D> {
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

/** Marks that outlive the source, stored as in the ledger. */
export function keptMarks<D extends Durable>(
  shapes: DurableShapes,
  stored: Map<string, Json>,
): Pick<SourceContext<D>, "marks" | "note"> {
  const forms = new StoredForms(shapes);
  return {
    marks: async <K extends keyof D["marks"] & string>(keys: readonly K[]) => {
      const found = Object.fromEntries([...stored].filter(([key]) => keys.some((wanted) => wanted === key)));
      // As they come from the control plane.
      const sent = JSON.stringify(Object.entries(forms.readMarks(found)));
      return new Map<string, D["marks"][K]>(JSON.parse(sent));
    },
    note: async (noted) => {
      for (const [key, mark] of Object.entries(forms.writeMarks(noted))) stored.set(key, mark);
    },
  };
}
