/** What a request for a Postgres pipe may name as its server. */
import { expect, test } from "vitest";
import { relationalDbDescription } from "./description.ts";
import { relationalDb } from "./kind.ts";

const parse = (member: "host" | "tlsHost", value: string) => {
  const mapping = { sourceSchemaName: "public", sourceTable: "t", targetTable: "t" };
  const request = { host: "db.example", database: "d", tableMappings: [mapping], [member]: value };
  return relationalDb.request.safeParse(request).error?.issues.map(({ path }) => path.join("."));
};

test.each(["/var/run/postgresql", "@abstract", "..\\pipe", "a b", "host/socket"])(
  "%s is not a host: drivers take some of these for unix sockets, where the server's own OS user may log in",
  (value) => {
    expect(parse("host", value)).toEqual(["host"]);
    expect(parse("tlsHost", value)).toEqual(["tlsHost"]);
  },
);

test.each(["db.example", "10.0.0.1", "::1", "fe80::1%eth0", "db_1.internal"])("%s is a host", (value) => {
  expect(parse("host", value)).toBeUndefined();
  expect(parse("tlsHost", value)).toBeUndefined();
});

test("a table of the destination is not the path of a file, which no statement may name", () => {
  const mapping = { sourceSchemaName: "public", sourceTable: "t", targetTable: "/etc/t" };
  const config = { host: "db.example", database: "d", authentication: "IAM_ROLE", tableMappings: [mapping] };
  expect(relationalDb.rules(config).map(({ path }) => path)).toEqual(["tableMappings.0.targetTable"]);
});

test("a pipe without tables is told to name one", () => {
  const { error } = relationalDb.request.safeParse({ host: "db.example", database: "d", tableMappings: [] });
  expect(error?.issues.map(({ message }) => message)).toEqual(["must name at least one table"]);
});

test("every member that can change has a field with a label, and a choice where it has values", () => {
  const { fields, mutable } = relationalDbDescription;
  const paths: readonly string[] = fields.map(({ path }) => path);
  expect(mutable.filter((member) => !paths.some((path) => `${path}.`.startsWith(`${member}.`)))).toEqual([]);
  const action = fields.find(({ path }) => path === "settings.slotBudgetAction");
  expect(action).toMatchObject({ input: "choice" });
});
