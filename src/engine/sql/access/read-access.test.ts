/** What statements about users, roles and grants mean; texts are canonical. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readCanonical } from "../text/tokens.ts";
import { isAccessStatement, readAccess } from "./read-access.ts";

const read = (text: string) => readAccess(readCanonical(text));
const passwordSha256 = createHash("sha256").update("p'w").digest("hex");

describe("users and roles", () => {
  test.each([
    ["CREATE USER a, `b-c` IDENTIFIED BY 'p\\'w'", { type: "create users", ifPresent: "fail", names: ["a", "b-c"] }],
    [
      "CREATE USER IF NOT EXISTS a IDENTIFIED WITH sha256_password BY 'p\\'w' HOST ANY",
      { type: "create users", ifPresent: "skip", names: ["a"] },
    ],
    [
      `CREATE USER OR REPLACE a IDENTIFIED WITH sha256_hash BY '${passwordSha256.toUpperCase()}'`,
      { type: "create users", ifPresent: "replace", names: ["a"] },
    ],
    ["ALTER USER IF EXISTS a IDENTIFIED BY 'p\\'w'", { type: "set password", ifMissing: "skip", names: ["a"] }],
  ])("%s", (text, change) => {
    expect(read(text)).toEqual({ ...change, passwordSha256 });
  });

  test.each([
    ["CREATE ROLE IF NOT EXISTS r, s", { type: "create roles", ifPresent: "skip", names: ["r", "s"] }],
    ["DROP USER IF EXISTS a", { type: "drop users", ifMissing: "skip", names: ["a"] }],
    ["DROP ROLE r", { type: "drop roles", ifMissing: "fail", names: ["r"] }],
    ["GRANT r, `s` TO a, b", { type: "grant roles", roles: ["r", "s"], names: ["a", "b"] }],
    ["REVOKE r FROM a", { type: "revoke roles", roles: ["r"], names: ["a"] }],
  ])("%s", (text, change) => {
    expect(read(text)).toEqual(change);
  });

  test("a password or hash may be a parameter of the request", () => {
    const bound = (text: string, ...parameters: [string, string][]) => readAccess(readCanonical(text), parameters);
    const hashed = "CREATE USER a IDENTIFIED WITH sha256_hash BY {secret_0:String}";
    expect(bound(hashed, ["secret_0", passwordSha256])).toMatchObject({ passwordSha256 });
    const changed = "ALTER USER a IDENTIFIED WITH sha256_password BY {p:String}";
    expect(bound(changed, ["p", "p'w"])).toMatchObject({ passwordSha256 });
    expect(() => bound(hashed)).toThrow("The parameter secret_0 has no value");
    expect(() => bound(hashed, ["secret_0", "abc"])).toThrow("64 hexadecimal digits");
    expect(() => bound("CREATE USER a IDENTIFIED BY {p:Identifier}", ["p", "x"])).toThrow("text in quotes");
  });

  test("a second authentication method is refused", () => {
    const text = `CREATE USER a IDENTIFIED WITH sha256_hash BY '${passwordSha256}', sha256_hash BY '${passwordSha256}'`;
    expect(() => read(text)).toThrow("A user has one password");
  });

  test("a password of other bytes than ASCII is hashed as it was sent", () => {
    const text = `CREATE USER a IDENTIFIED BY '${Buffer.from("pässwort").toString("latin1")}'`;
    expect(read(text)).toMatchObject({ passwordSha256: createHash("sha256").update("pässwort").digest("hex") });
  });
});

describe("privileges", () => {
  const db = { name: "d" };
  test.each([
    ["GRANT SELECT ON *.* TO a", [{ privilege: "SELECT" }]],
    [
      "GRANT SELECT, INSERT ON d.* TO a",
      [
        { privilege: "SELECT", database: db },
        { privilege: "INSERT", database: db },
      ],
    ],
    [
      "GRANT SELECT(x, `y z`) ON d.t TO a",
      [{ privilege: "SELECT", columns: ["x", "y z"], database: db, table: { name: "t" } }],
    ],
    ["GRANT SELECT ON d_*.* TO a", [{ privilege: "SELECT", database: { name: "d_", prefix: true } }]],
    ["GRANT SELECT ON d.t_* TO a", [{ privilege: "SELECT", database: db, table: { name: "t_", prefix: true } }]],
    [
      "GRANT ALTER UPDATE ON d.*, CREATE TEMPORARY TABLE ON *.* TO a",
      [{ privilege: "ALTER UPDATE", database: db }, { privilege: "CREATE TEMPORARY TABLE" }],
    ],
    [
      "GRANT READ, WRITE ON S3 TO a",
      [
        { privilege: "READ", object: "S3" },
        { privilege: "WRITE", object: "S3" },
      ],
    ],
    ["GRANT TABLE ENGINE ON MergeTree TO a", [{ privilege: "TABLE ENGINE", object: "MergeTree" }]],
  ])("%s", (text, privileges) => {
    expect(read(text)).toEqual({ type: "grant", privileges, names: ["a"] });
    expect(read(text.replace("GRANT", "REVOKE").replace(" TO ", " FROM "))).toMatchObject({
      type: "revoke",
      privileges,
    });
  });

  test("all of them are revoked together, and only then", () => {
    expect(read("REVOKE ALL ON *.* FROM a")).toEqual({ type: "revoke all", names: ["a"] });
    expect(() => read("GRANT ALL ON *.* TO a")).toThrow("Privilege ALL is not available");
    expect(() => read("REVOKE ALL ON d.* FROM a")).toThrow("Privilege ALL is not available");
  });

  test.each([
    ["GRANT CREATE DATABASE ON d.t TO a", "is for whole databases"],
    ["GRANT TRUNCATE(x) ON d.t TO a", "is for whole tables"],
    ["GRANT CREATE FUNCTION ON d.* TO a", "is for the whole service"],
    ["GRANT SELECT ON *.t TO a", "names its database"],
    ["GRANT SELECT ON t TO a", "Name the database"],
    ["GRANT SELECT(x), r TO a", "not available"],
    ["GRANT SELECT ON d.* TO ALL", "write the names out"],
  ])("%s is refused", (text, sentence) => {
    expect(() => read(text)).toThrow(sentence);
  });
});

test("other statements are none of these", () => {
  for (const text of [
    "CREATE TABLE user (`a` Int8)",
    "ALTER TABLE role (DROP COLUMN a)",
    "SHOW GRANTS",
    "DROP TABLE user",
  ])
    expect(isAccessStatement(readCanonical(text))).toBe(false);
});

test("no refusal repeats a text in quotes", () => {
  for (const clause of [
    "WITH bcrypt_hash BY 'secret'",
    "BY 'secret' SETTINGS a = 'secret'",
    "BY 'x', plaintext_password BY 'secret'",
  ]) {
    const error = (() => {
      try {
        return String(read(`CREATE USER a IDENTIFIED ${clause}`));
      } catch (thrown) {
        return (thrown as Error).message;
      }
    })();
    expect(error).toContain("not available");
    expect(error).not.toContain("secret");
  }
});
