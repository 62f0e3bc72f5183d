/** What a connection that fails says: the member of the configuration, the reason and the remedy. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../../../harness/network/free-port.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { postgresMissing, TestPostgres } from "../../../../harness/postgres/postgres.ts";
import { makeCertificate, opensslMissing } from "../../../../harness/postgres/tls.ts";
import type { AppError } from "../../../lib/errors.ts";
import type { RelationalDbConfig, SourceServer } from "../declaration/kind.ts";
import { login } from "./login.ts";

const missing = postgresMissing(18) ?? opensslMissing();
if (missing !== undefined) console.log(`skipped: ${missing}`);
const never = new AbortController().signal;

describe.skipIf(missing !== undefined)("connections to Postgres", () => {
  let server: TestPostgres;
  let certificate: string;

  beforeAll(async () => {
    server = await TestPostgres.start();
    certificate = makeCertificate(server.dataDir);
    await server.sql("CREATE ROLE tls_only LOGIN PASSWORD 'x'");
    await server.sql("ALTER SYSTEM SET ssl = on");
    await server.stop();
    await server.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  function serverOf(more: Partial<RelationalDbConfig> = {}): SourceServer {
    const { host, port, user, password, database } = server;
    const credentials = { username: user, password };
    return { network: anyNetwork, config: { host, port, database, credentials, tableMappings: [], ...more } };
  }

  async function failure(more: Partial<RelationalDbConfig>): Promise<AppError> {
    const error = await login(serverOf(more), {}, never).then(
      async (client) => {
        await client.end();
        throw new Error("it connected");
      },
      (reason: AppError) => reason,
    );
    expect(error.issues?.[0]?.path, String(error.message)).toMatch(/^source\.relationalDb\./);
    return error;
  }

  async function connects(more: Partial<RelationalDbConfig>): Promise<boolean> {
    const client = await login(serverOf(more), {}, never);
    const { rows } = await client.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    await client.end();
    return rows[0].ssl as boolean;
  }

  test("TLS is on unless it is turned off, and the certificate is checked unless that is turned off", async () => {
    expect(await connects({ caCertificate: certificate, tlsHost: "db.example" })).toBe(true);
    expect(await connects({ skipCertVerification: true })).toBe(true);
    expect(await connects({ disableTls: true })).toBe(false);
    expect((await failure({})).message).toMatch(/caCertificate: the server's certificate is signed by nobody/);
    const name = await failure({ caCertificate: certificate });
    expect(name.message).toMatch(/tlsHost: the server's certificate is not for "127.0.0.1"/);
    expect((await failure({ caCertificate: certificate, tlsHost: "other.example" })).message).toMatch(
      /"other.example"/,
    );
    expect((await failure({ caCertificate: "garbage" })).message).toMatch(/caCertificate: is not a certificate/);
  });

  test("DNS, port, login and database are told apart, and no message has the password", async () => {
    const plain = { disableTls: true };
    const cases: [Partial<RelationalDbConfig>, string, RegExp][] = [
      [{ host: "no-such-host.invalid" }, "SOURCE_UNREACHABLE", /host: DNS does not know no-such-host\.invalid;/],
      [{ port: await freePort() }, "SOURCE_UNREACHABLE", /port: nothing listens at 127.0.0.1:/],
      [
        { credentials: { username: "postgres", password: "wrong-pw" } },
        "SOURCE_UNAUTHORIZED",
        /credentials: user "postgres" or its password/,
      ],
      [
        { credentials: { username: "postgres" } },
        "SOURCE_UNAUTHORIZED",
        /credentials: user "postgres" or its password/,
      ],
      [{ database: "nowhere" }, "SOURCE_INVALID", /database: database "nowhere" does not exist/],
      [{ authentication: "IAM_ROLE" }, "SOURCE_INVALID", /authentication: IAM_ROLE is not supported/],
    ];
    for (const [more, code, message] of cases) {
      const error = await failure({ ...plain, ...more });
      expect(error.message).toMatch(message);
      expect(error.code).toBe(code);
      expect(error.message).not.toContain("wrong-pw");
    }
  });

  test("a server that is stopped is an outage, and an aborted connection ends", async () => {
    const stopping = new AbortController();
    const client = await login(serverOf({ disableTls: true }), {}, stopping.signal);
    const query = client.query("SELECT pg_sleep(60)");
    stopping.abort();
    await expect(query).rejects.toThrow();
    await server.stop();
    const error = await failure({ disableTls: true });
    expect(error.retryable).toBe(true);
    await server.start();
  });

  test("a server without TLS, and one that takes nothing else, say so", async () => {
    const hba = join(server.dataDir, "pg_hba.conf");
    execFileSync("sh", [
      "-c",
      `sed -i '1i hostssl all tls_only all scram-sha-256\\nhost all tls_only all reject' '${hba}'`,
    ]);
    await server.sql("SELECT pg_reload_conf()");
    const credentials = { username: "tls_only", password: "x" };
    expect(await connects({ credentials, skipCertVerification: true })).toBe(true);
    const refused = await failure({ credentials, disableTls: true });
    expect(refused.message).toMatch(/does not let user "tls_only" in.*remove disableTls/);
    await server.sql("ALTER SYSTEM SET ssl = off");
    await server.sql("SELECT pg_reload_conf()");
    expect((await failure({})).message).toMatch(/disableTls: the server does not speak TLS/);
  });
});
