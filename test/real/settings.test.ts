/** A number that the server accepts is a number with which services run. */
import { expect, test } from "vitest";
import { z } from "zod";
import { query, runningService, serve } from "../../harness/serve.ts";
import { environmentName, loadConfig, settings } from "../../src/config.ts";

type Range = { readonly type: string; readonly minimum: number; readonly maximum: number };
type Quantity = Range & { readonly name: string };

/** Addresses are tested where they are listened on. A limit of one request is not a limit with which one can look. */
const left = ["port", "cloudPort", "gatewayPort", "relayPort", "rateLimit"];

const quantities = Object.entries(settings).flatMap(([name, setting]): Quantity[] => {
  const range = z.toJSONSchema(setting as z.ZodType, { io: "output" }) as Partial<Range>;
  return ["integer", "number"].includes(range.type ?? "") && !left.includes(name)
    ? [{ name, ...(range as Range) }]
    : [];
});

const environmentOf = (pick: (quantity: Quantity) => number) =>
  Object.fromEntries(quantities.map((quantity) => [environmentName(quantity.name), String(pick(quantity))]));

async function startsService(env: Record<string, string>): Promise<string> {
  await using served = await serve({ env });
  const service = await runningService(served, { maxReplicaMemoryGb: 1, minReplicaMemoryGb: 1, idleScaling: false });
  return await query(service, "SELECT 1");
}

test("every number has a least and a largest value, and the next one is refused", () => {
  expect(quantities.length).toBeGreaterThan(25);
  for (const { name, minimum, maximum } of quantities) {
    for (const value of [minimum - 1, maximum + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => loadConfig({ [name]: String(value) }, {}), `${name}: ${value}`).toThrow(environmentName(name));
    }
  }
});

test.for([
  { what: "the least", pick: ({ minimum }: Quantity) => minimum },
  { what: "the largest", pick: ({ maximum }: Quantity) => maximum },
  {
    what: "fractions where they are accepted",
    pick: ({ type, minimum }: Quantity) => (type === "number" ? minimum + 0.1 : minimum + 1),
  },
])("a service starts with $what of all settings", async ({ pick }) => {
  expect(await startsService(environmentOf(pick))).toBe("1");
});
