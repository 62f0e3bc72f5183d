import { expect, test } from "vitest";
import { requireHere } from "./elsewhere.ts";

const nodes = {
  leases: {
    isElsewhere: (id: string | null) => id !== null && id !== "here",
    holderOf: async (_kind: string, id: string) => (id === "unclaimed" ? undefined : "there"),
  },
  addressOf: async (nodeId: string) => (nodeId === "there" ? "http://there:8150" : undefined),
};
const embedded = { id: "s", runtime: "embedded" } as const;
const refused = (message: string) => ({ code: "SERVICE_UNAVAILABLE", message });

test("an engine of another process is refused with its address, as far as that is known", async () => {
  const belongs = "The engine of this service belongs to";
  await expect(requireHere({ ...embedded, nodeId: "there" }, nodes)).rejects.toMatchObject(
    refused(`${belongs} the server http://there:8150: send the request there.`),
  );
  await expect(requireHere({ ...embedded, nodeId: "gone" }, nodes)).rejects.toMatchObject(
    refused(`${belongs} another server: send the request there.`),
  );
  const managed = { id: "s", runtime: "kubernetes", nodeId: null } as const;
  await expect(requireHere(managed, nodes)).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
});

test("an own engine, an external server, and a service that nobody has yet are not refused", async () => {
  await requireHere({ ...embedded, nodeId: "here" }, nodes);
  await requireHere({ id: "s", runtime: "external", nodeId: null }, nodes);
  await requireHere({ id: "unclaimed", runtime: "kubernetes", nodeId: null }, nodes);
});
