/** Certificates that are renewed while a listener is open. `../proxy-protocol/trusted-proxies.test.ts` has headers. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { loopbackCertificate, renewedCertificate } from "../../../harness/network/loopback-certificate.ts";
import { CertificateFiles } from "../../lib/certificate-files.ts";
import { ClientListener } from "./client-listener.ts";

async function dial(port: number): Promise<TLSSocket> {
  const ca = [loopbackCertificate.cert, renewedCertificate.cert];
  const socket = connect({ port, host: "127.0.0.1", ca });
  await once(socket, "secureConnect");
  return socket;
}

const nameOf = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN;

async function echoes(socket: TLSSocket, text: string): Promise<boolean> {
  socket.write(text);
  const [said] = await once(socket, "data");
  return String(said) === text;
}

test("a renewed certificate is that of new connections, open ones go on, and a broken pair changes nothing", async () => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-listener-"));
  const paths = { cert: join(dir, "cert.pem"), key: join(dir, "key.pem") };
  const write = ({ cert, key }: { cert: string; key: string }) => {
    writeFileSync(paths.cert, cert);
    writeFileSync(paths.key, key);
  };
  write(loopbackCertificate);
  const tls = new CertificateFiles(paths);
  const onClient = (socket: NodeJS.ReadWriteStream) => void socket.pipe(socket);
  const listener = new ClientListener({ tls, onClient, onError: () => {} });
  const port = await listener.listen({ host: "127.0.0.1", port: 0 });
  const open: TLSSocket[] = [await dial(port)];
  const [first] = open as [TLSSocket];
  expect(nameOf(first)).toBe("loopback");

  write(renewedCertificate);
  tls.refresh();
  open.push(await dial(port));
  expect(open.map(nameOf)).toEqual(["loopback", "renewed"]);
  expect(await echoes(first, "still here")).toBe(true);

  write({ ...renewedCertificate, cert: loopbackCertificate.cert });
  tls.refresh();
  open.push(await dial(port));
  expect(open.map(nameOf)).toEqual(["loopback", "renewed", "renewed"]);
  for (const socket of open) expect(await echoes(socket, "and here")).toBe(true);

  for (const socket of open) socket.destroy();
  listener.close();
  rmSync(dir, { recursive: true });
});
