/** The context of a source under test: every member does nothing unless a test replaces it. */
import { plainForm } from "../../src/clickhouse/table-form.ts";
import type { Json } from "../../src/lib/json.ts";
import { StoredForms } from "../../src/pipes/durable.ts";
import { notedCounts } from "../../src/pipes/worker/counts.ts";
import type { DurableShapes } from "../../src/sources/contract/durable.ts";
import type { Durable, SourceContext, SourceLedger, TableDestination } from "../../src/sources/contract/source.ts";
import { anyNetwork } from "../network/network.ts";
import type { At } from "./source-contract.ts";

export const testDestination: TableDestination = {
  kind: "table",
  database: "default",
  table: "t",
  columns: [{ name: "a", type: "String", sourceField: "a" }],
};

type Groups = "ledger" | "progress" | "destination";

/** A context with some members replaced, in the groups too. */
export type OwnContext<D extends Durable = Durable> = Partial<Omit<SourceContext<D>, Groups>> & {
  readonly [G in Groups]?: Partial<SourceContext<D>[G]>;
};

export function testContext<D extends Durable = Durable>(own: OwnContext<D> = {}): SourceContext<D> {
  return {
    network: anyNetwork,
    pipeId: "pipe",
    epoch: 0,
    settings: {},
    concurrency: 2,
    memoryGb: 1,
    sourceIdleTimeoutMs: 30_000,
    replica: { index: 0, count: 1 },
    holder: { fence: 1, require: async () => {} },
    inbox: { folder: async () => "", news: async (after) => after, loaded: async () => {} },
    ...own,
    ledger: {
      marks: async () => new Map(),
      note: async () => {},
      forget: async () => {},
      reject: async () => {},
      ...own.ledger,
    },
    progress: { answered: () => {}, copying: () => {}, warn: () => {}, report: () => {}, ...own.progress },
    destination: {
      target: testDestination,
      query: async () => [],
      crashes: async () => 0,
      form: async () => plainForm,
      define: async () => {},
      refusal: () => undefined,
      ...own.destination,
    },
  };
}

/** Marks that outlive the source, stored as in the ledger. Each note is a step. */
export function keptMarks<D extends Durable>(
  shapes: DurableShapes,
  stored: Map<string, Json>,
  at: At = async (_step, work) => await work(),
  count: (counts: Readonly<Record<string, number>>) => void = () => {},
): Pick<SourceLedger<D>, "marks" | "note" | "forget"> {
  const forms = new StoredForms(shapes);
  return {
    marks: async <K extends keyof D["marks"] & string>(keys: readonly K[]) => {
      const found = Object.fromEntries([...stored].filter(([key]) => keys.some((wanted) => wanted === key)));
      // As the control plane sends them.
      const sent = JSON.stringify(Object.entries(forms.readMarks(found)));
      return new Map<string, D["marks"][K]>(JSON.parse(sent));
    },
    note: (noted, counts) =>
      at("note", () => {
        for (const [key, mark] of Object.entries(forms.writeMarks(noted))) stored.set(key, mark);
        count(notedCounts(counts));
      }),
    forget: async (_lanes, keys) => {
      for (const key of keys) stored.delete(key);
    },
  };
}
