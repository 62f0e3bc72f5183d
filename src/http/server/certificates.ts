/** The certificates that the server presents, and what is known of them. */
import type { z } from "zod";
import type { certificate } from "../../api/system.ts";
import type { CertificateFiles } from "../../lib/certificate-files.ts";
import type { MetricSample } from "../../lib/metric-sample.ts";

export type Certificates = {
  /** The files of --tls-cert. */
  readonly api: CertificateFiles | undefined;
  /** The files of --gateway-tls-cert. */
  readonly gateway: CertificateFiles | undefined;
};

const dayMs = 86_400_000;

/** Those that there are, by the names that metrics and the log have for them. */
export function usedCertificates({ api, gateway }: Certificates): { name: string; files: CertificateFiles }[] {
  return Object.entries({ api, gateway }).flatMap(([name, files]) => (files === undefined ? [] : [{ name, files }]));
}

/** Whole days until the certificate expires; negative after that. */
export function daysLeft(
  { certificate: { validToDate } }: Pick<CertificateFiles, "certificate">,
  nowMs: number,
): number {
  return Math.floor((validToDate.getTime() - nowMs) / dayMs);
}

export function certificateView(files: Pick<CertificateFiles, "certificate" | "problem">, nowMs: number) {
  const { subject, subjectAltName, validFromDate, validToDate } = files.certificate;
  return {
    subject,
    names: subjectAltName?.split(", ") ?? [],
    validFrom: validFromDate.toISOString(),
    validTo: validToDate.toISOString(),
    daysLeft: daysLeft(files, nowMs),
    ...(files.problem === undefined ? {} : { problem: files.problem }),
  } satisfies z.input<typeof certificate>;
}

export const certificateMetrics = {
  expiry: {
    name: "Certificate_Expiry_Timestamp",
    help: "Time when the certificate expires, in seconds since 1970; `certificate` is api (--tls-cert) or gateway (--gateway-tls-cert).",
  },
  refused: {
    name: "Certificate_RenewalRefused",
    help: "1 while the files of the certificate cannot be used, so that new connections get the one that was read before; otherwise 0.",
  },
};

/** Times, because a scraper has a clock of its own. */
export function certificateSamples(certificates: Certificates): MetricSample[] {
  const used = usedCertificates(certificates);
  const expiry = used.map(({ name, files }) => ({
    ...{ ...certificateMetrics.expiry, labels: { certificate: name } },
    value: files.certificate.validToDate.getTime() / 1_000,
  }));
  const refused = used.map(({ name, files }) => ({
    ...{ ...certificateMetrics.refused, labels: { certificate: name } },
    value: Number(files.problem !== undefined),
  }));
  return [...expiry, ...refused];
}
