/** Commands that a pipe refuses, and what it keeps then. */
import { expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { startApi } from "./harness.ts";

test.each(["keep", "truncate"])(
  "a pipe with an inbox is not read again, with %s: what is loaded is gone there",
  async (rows) => {
    await using api = await startApi();
    const { body } = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "s" } });
    const serviceId: string = body.result.service.id;
    const destination = { table: "t", columns: [{ name: "id", type: "UInt64" }] };
    const pipe = { serviceId, name: "p", sourceKind: "push", source: { push: {} }, destination, secrets: {} };
    const id = await api.pipes.create(
      { ...pipe, roles: [], fieldMappings: [], scaling: {}, settings: {} },
      limits.pipes,
    );
    const before = await api.pipes.find(id);
    const path = `/v1/organizations/{o}/services/${serviceId}/pipes/${id}/state`;
    const refused = await api.call("PATCH", path, { body: { command: "resync", rows } });
    expect([refused.status, refused.body.issues]).toEqual([
      400,
      [{ path: "command", message: expect.stringMatching(/must not be resync: .* gone from the inbox/) }],
    ]);
    expect(await api.pipes.find(id)).toEqual(before);
  },
);
