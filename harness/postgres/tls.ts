/** A certificate for a test server, for the name db.example. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** A self-signed certificate for db.example, where the server expects it. */
export function makeCertificate(dataDir: string): string {
  const key = join(dataDir, "server.key");
  const crt = join(dataDir, "server.crt");
  const subject = ["-subj", "/CN=db.example", "-addext", "subjectAltName=DNS:db.example"];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", crt, ...subject];
  execFileSync("openssl", made, { stdio: "ignore" });
  const { uid, gid } = statSync(dataDir);
  for (const file of [key, crt]) {
    chownSync(file, uid, gid);
    chmodSync(file, 0o600);
  }
  return readFileSync(crt, "utf8");
}

export function opensslMissing(): string | undefined {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "no openssl here to make certificates with";
  }
}
