import { expect, test } from "vitest";
import { requireHere } from "./elsewhere.ts";

const nodes = {
  leases: { isElsewhere: (id: string | null) => id !== null && id !== "here" },
  addressOf: async (nodeId: string) => (nodeId === "there" ? "http://there:8150" : undefined),
};
const refused = (message: string) => ({ code: "SERVICE_UNAVAILABLE", message });

test("an engine of another process is refused with its address, as far as that is known", async () => {
  const belongs = "The engine of this service belongs to";
  await expect(requireHere({ nodeId: "there" }, nodes)).rejects.toMatchObject(
    refused(`${belongs} the server http://there:8150: send the request there.`),
  );
  await expect(requireHere({ nodeId: "gone" }, nodes)).rejects.toMatchObject(
    refused(`${belongs} another server: send the request there.`),
  );
});

test("an own engine, and a server that is not in a data directory, are not refused", async () => {
  await requireHere({ nodeId: "here" }, nodes);
  await requireHere({ nodeId: null }, nodes);
});
