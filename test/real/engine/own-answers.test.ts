/** Answers that this program writes in place of an engine, beside those of the engine. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => await stage.close());

describe("an answer that no engine wrote has the head of one that it wrote", () => {
  const ask = (sql: string, parameters: Record<string, string> = {}, headers: Record<string, string> = {}) =>
    stage.query(
      sql,
      { query_id: "q77", add_http_cors_header: "1", ...parameters },
      { headers: { Origin: "http://a", ...headers } },
    );
  const connection =
    /^(?:date|connection|keep-alive|transfer-encoding|content-length|x-clickhouse-server-display-name)$/;
  // One zone with two names.
  const zone = (value: string | null) => value?.replace(/^Etc\/UTC$/, "UTC") ?? "";
  const described = ({ headers }: { headers: Headers }) =>
    [...headers]
      .filter(([name]) => !connection.test(name))
      .map(([name, value]) => {
        if (name === "x-clickhouse-summary") return [name, Object.keys(JSON.parse(value))];
        return [name, name === "x-clickhouse-exception-tag" ? value.replace(/^[a-z]{16}$/, "tag") : zone(value)];
      });

  test.each([
    ["a syntax error", "invalid", "62"],
    ["a refusal", "SELECT file('x')", "497"],
    ["an unknown function", "SELECT no_such_function(1)", "46"],
  ])("%s", async (_, sql, code) => {
    const ours = await ask(sql);
    const theirs = await ask("SELECT boom");
    expect(theirs.headers.get("x-clickhouse-exception-code")).toBe("47");
    const expected = described(theirs).map(([name, value]) => [
      name,
      name === "x-clickhouse-exception-code" ? code : value,
    ]);
    expect(described(ours)).toEqual(expected);
    expect(Object.fromEntries(described(ours))).toMatchObject({
      ...{ "x-clickhouse-query-id": "q77", "access-control-allow-origin": "*" },
    });
  });

  test("its body is compressed as the client asks", async () => {
    const gzipped = { "Accept-Encoding": "gzip" };
    for (const sql of ["invalid", "SELECT boom"]) {
      const { headers, text } = await ask(sql, {}, gzipped);
      expect([headers.get("content-encoding"), text.slice(0, 5)]).toEqual(["gzip", "Code:"]);
      const plain = await ask(sql, { enable_http_compression: "0" }, gzipped);
      expect([plain.headers.get("content-encoding"), plain.text.slice(0, 5)]).toEqual([null, "Code:"]);
    }
  });

  test("a statement about users is answered alike, and a wrong password with less", async () => {
    const made = await ask("CREATE ROLE IF NOT EXISTS answered");
    const own = Object.fromEntries(described(made));
    expect(own).toMatchObject({ "x-clickhouse-query-id": "q77", "access-control-allow-origin": "*" });
    expect(own["x-clickhouse-timezone"]).toBe(zone((await ask("SELECT 1")).headers.get("x-clickhouse-timezone")));
    const refused = await ask("SELECT 1", {}, { "X-ClickHouse-Key": "wrong", Authorization: "" });
    expect(refused.status).toBe(403);
    expect(refused.headers.get("x-clickhouse-exception-tag")).toMatch(/^[a-z]{16}$/);
    expect([refused.headers.get("x-clickhouse-query-id"), refused.headers.get("access-control-allow-origin")]).toEqual([
      null,
      null,
    ]);
  });
});
