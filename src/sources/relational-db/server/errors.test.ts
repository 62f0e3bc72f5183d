/** Which member an error of a server that is reached is about. */
import { expect, test } from "vitest";
import { postgresSourceError } from "./errors.ts";

const said = (code: string, message: string) => postgresSourceError(Object.assign(new Error(message), { code }));

test.each([
  ["42704", 'publication "p" does not exist', "SOURCE_INVALID", "settings.publicationName"],
  ["42704", 'replication slot "s" does not exist', "SOURCE_INVALID", "settings.replicationSlotName"],
  ["42501", "permission denied for table t", "SOURCE_UNAUTHORIZED", "credentials"],
  ["28P01", "password authentication failed", "SOURCE_UNAUTHORIZED", "credentials"],
])("%s, %s", (sqlState, message, code, member) => {
  const path = `source.relationalDb.${member}`;
  const sentence = `Postgres says: ${message} (${sqlState})`;
  expect(said(sqlState, message)).toMatchObject({
    ...{ code, message: `${path}: ${sentence}` },
    issues: [{ path, message: sentence }],
  });
});

test("an error of no member in particular, and an outage, name none", () => {
  expect(said("22012", "division by zero")).toMatchObject({ code: "SOURCE_INVALID", issues: undefined });
  expect(said("57P01", "terminating connection")).toMatchObject({ code: "SOURCE_UNREACHABLE", issues: undefined });
});
