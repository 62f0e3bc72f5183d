/** What the clients of an engine that went away are told. */
import { expect, test } from "vitest";
import { reconciledService } from "../../harness/reconciled-service.ts";
import { clickHouseException } from "../clickhouse/exception.ts";

test("a query whose engine went away is told who ended it: nobody, a stop or a deletion", async () => {
  const { services, access, id, close } = await reconciledService();
  const gone = clickHouseException("NETWORK_ERROR", "The service's engine went away.");
  const other = clickHouseException("UNKNOWN_TABLE", "There is no such table.");
  expect(await access.explained(id, gone)).toBe(gone);
  for (const wanted of ["stopped", "deleted"] as const) {
    await services.setDesired(id, wanted);
    expect(await access.explained(id, gone)).toMatchObject({
      ...{ codeName: "NETWORK_ERROR", message: `The service was ${wanted} before the query ended.` },
    });
    expect(await access.explained(id, other)).toBe(other);
  }
  await services.remove(id);
  expect(await access.explained(id, gone)).toMatchObject({ message: expect.stringContaining("was deleted") });
  await close();
});
