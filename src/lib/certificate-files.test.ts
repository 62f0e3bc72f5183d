import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loopbackCertificate, renewedCertificate } from "../../harness/network/loopback-certificate.ts";
import { CertificateFiles } from "./certificate-files.ts";

let dir: string;
let paths: { cert: string; key: string };
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "millrace-pair-"));
  paths = { cert: join(dir, "cert.pem"), key: join(dir, "key.pem") };
  write(loopbackCertificate);
});
afterEach(() => rmSync(dir, { recursive: true }));

function write({ cert, key }: { cert: string; key: string }): void {
  writeFileSync(paths.cert, cert);
  writeFileSync(paths.key, key);
}

test("a renewed pair is told once, and replaces the old one", () => {
  const files = new CertificateFiles(paths);
  const told: string[] = [];
  files.onRenewed(({ cert }) => told.push(String(cert)));
  expect(files.refresh()).toBe("unchanged");
  write(renewedCertificate);
  expect([files.refresh(), files.refresh()]).toEqual(["renewed", "unchanged"]);
  expect(told).toEqual([renewedCertificate.cert]);
  expect(String(files.pair.key)).toBe(renewedCertificate.key);
  expect(files.certificate.subject).toBe("CN=renewed");
});

const secret = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----";

test.each<[string, () => void, RegExp]>([
  ["a key that is not written yet", () => writeFileSync(paths.cert, renewedCertificate.cert), /does not belong to/],
  ["a key of another certificate", () => writeFileSync(paths.key, renewedCertificate.key), /does not belong to/],
  [
    "half a certificate",
    () => writeFileSync(paths.cert, renewedCertificate.cert.slice(0, 200)),
    /is not a certificate/,
  ],
  ["an empty key", () => writeFileSync(paths.key, ""), /is not a private key in PEM without a passphrase/],
  ["something else as a key", () => writeFileSync(paths.key, secret), /is not a private key in PEM/],
  ["a file that is gone", () => rmSync(paths.key), /key\.pem cannot be read \(ENOENT\)/],
])("%s keeps the old pair, is told once, and is over when the files are right again", (_, breakFiles, reason) => {
  const files = new CertificateFiles(paths);
  files.onRenewed(() => expect.unreachable());
  breakFiles();
  expect([files.refresh(), files.refresh()]).toEqual(["refused", "unchanged"]);
  expect(files.problem).toMatch(reason);
  expect(files.problem).not.toContain("c2VjcmV0");
  expect(files.certificate.subject).toBe("CN=loopback");
  expect(String(files.pair.key)).toBe(loopbackCertificate.key);
  write(loopbackCertificate);
  expect(files.refresh()).toBe("unchanged");
  expect(files.problem).toBeUndefined();
  expect(() => {
    breakFiles();
    new CertificateFiles(paths);
  }).toThrow(reason);
});

test("a link to another folder is followed, as mounted secrets are renewed", () => {
  const versions = [loopbackCertificate, renewedCertificate].map((pair, at) => {
    paths = { cert: join(dir, `cert${at}`), key: join(dir, `key${at}`) };
    write(pair);
    return paths;
  });
  const [first, second] = versions as [typeof paths, typeof paths];
  paths = { cert: join(dir, "tls.crt"), key: join(dir, "tls.key") };
  for (const name of ["cert", "key"] as const) symlinkSync(first[name], paths[name]);
  const files = new CertificateFiles(paths);
  for (const name of ["cert", "key"] as const) {
    symlinkSync(second[name], `${paths[name]}.new`);
    renameSync(`${paths[name]}.new`, paths[name]);
  }
  expect(files.refresh()).toBe("renewed");
  unlinkSync(first.cert);
  expect(files.refresh()).toBe("unchanged");
});

test("who no longer wants renewals gets none", () => {
  const files = new CertificateFiles(paths);
  const stop = files.onRenewed(() => expect.unreachable());
  stop();
  write(renewedCertificate);
  expect(files.refresh()).toBe("renewed");
});
