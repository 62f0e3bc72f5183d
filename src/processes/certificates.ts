/** The certificates of the settings, read at the start and again when their files change. */
import type { Config } from "../config.ts";
import { type Certificates, daysLeft, usedCertificates } from "../http/server/certificates.ts";
import { CertificateFiles } from "../lib/certificate-files.ts";
import type { Logger } from "../lib/logger.ts";
import { Loop } from "../lib/loop.ts";

/** Throws an error that names the file, if a pair cannot be used. */
export function readCertificates(config: Config): Certificates {
  const { tlsCert, tlsKey, gatewayTlsCert, gatewayTlsKey } = config;
  return { api: filesOf(tlsCert, tlsKey), gateway: filesOf(gatewayTlsCert, gatewayTlsKey) };
}

function filesOf(cert: string | undefined, key: string | undefined): CertificateFiles | undefined {
  return cert === undefined || key === undefined ? undefined : new CertificateFiles({ cert, key });
}

/** Days before the expiry from which on the log has a warning a day. */
const warningDays = 14;
const warnEveryMs = 86_400_000;
const everyMs = 2_000;

/** Files are read, not watched: renewals replace links and folders, of which a watch may learn nothing. */
export function certificatesLoop(certificates: Certificates, logger: Logger): Loop {
  const used = usedCertificates(certificates);
  const warnedAt = new Map<string, number>();
  const body = async () => {
    for (const { name, files } of used) {
      const found = files.refresh();
      const validTo = files.certificate.validToDate.toISOString();
      if (found === "renewed") logger.info({ certificate: name, validTo }, "certificate renewed");
      if (found === "refused") logger.error({ certificate: name, reason: files.problem }, "certificate not renewed");
      const now = Date.now();
      const left = daysLeft(files, now);
      if (left >= warningDays || now - (warnedAt.get(name) ?? 0) < warnEveryMs) continue;
      warnedAt.set(name, now);
      logger.warn({ certificate: name, validTo, daysLeft: left }, "certificate expires");
    }
  };
  return new Loop({ name: "certificates", everyMs, logger, body });
}
