/** A certificate for `*.<domain>`, made with openssl, that clients of tests trust. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type CertificateFiles = Disposable & {
  readonly key: string;
  readonly cert: string;
  /** The certificate itself, which is its own authority. */
  readonly ca: Buffer;
};

/** Why none can be made; undefined: it can. */
export function opensslMissing(): string | undefined {
  return spawnSync("openssl", ["version"]).status === 0 ? undefined : "no openssl to make a certificate with";
}

export function wildcardCertificate(domain: string): CertificateFiles {
  const dir = mkdtempSync(join(tmpdir(), "millrace-certificate-"));
  const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
  const subject = ["-subj", `/CN=${domain}`, "-addext", `subjectAltName=DNS:*.${domain},DNS:${domain}`];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", [...kind, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const remove = () => rmSync(dir, { recursive: true, force: true });
  return { key, cert, ca: readFileSync(cert), [Symbol.dispose]: remove };
}
