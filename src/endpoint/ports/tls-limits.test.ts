/** A service's listener with TLS has the limits of one without. */
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { opensslMissing, wildcardCertificate } from "../../../harness/network/wildcard-certificate.ts";
import { CertificateFiles } from "../../lib/certificate-files.ts";
import { createLogger } from "../../lib/logger.ts";
import { headBudget } from "../connections/stalled.ts";
import { Gateway } from "../gateway/gateway.ts";

const missing = opensslMissing();

describe.skipIf(missing !== undefined)(`a listener with TLS${missing ? `: ${missing}` : ""}`, () => {
  const opened = new DisposableStack();
  let gateway: Gateway;

  beforeAll(async () => {
    const tls = new CertificateFiles(opened.use(wildcardCertificate("tls.example")));
    const backend = { handoff: () => undefined, acquire: () => Promise.reject(new Error("nobody logs in")) };
    gateway = new Gateway({ backend, logger: createLogger("silent"), tls, closeGraceMs: 0 });
    const service = { id: "s", name: "s", host: "127.0.0.1", port: 0, users: [] };
    await gateway.sync([{ ...service, ipAccessList: [{ source: "127.0.0.1" }] }]);
  });
  afterAll(async () => {
    await gateway.close();
    opened.dispose();
  });

  test("incomplete heads of one address hold no more than their budget", async () => {
    const headBytes = 1_000_000;
    const count = Math.ceil(headBudget.perAddress / headBytes) + 4;
    const port = gateway.portOf("s") as number;
    const sockets: TLSSocket[] = [];
    let closed = 0;
    for (let at = 0; at < count; at += 1) {
      const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
      socket.on("error", () => {}).on("close", () => (closed += 1));
      socket.write(`GET /?query=${"x".repeat(headBytes)}`);
      sockets.push(socket);
    }
    await expect.poll(() => closed, { timeout: 25_000 }).toBeGreaterThanOrEqual(4);
    expect(closed).toBeLessThan(count);
    for (const socket of sockets) socket.destroy();
  });
});
