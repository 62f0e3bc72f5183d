/** The Helm chart, rendered without a cluster. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import { kubernetesProgram } from "./binaries.ts";

const chart = fileURLToPath(new URL("../../deploy/helm/millrace", import.meta.url));

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
} & Readonly<Record<string, unknown>>;

export type ChartOptions = { readonly namespace?: string; readonly values?: object };

/** `helm template` with these values. Throws with the sentence that Helm prints. */
export function chartText({ namespace = "millrace", values = {} }: ChartOptions = {}): string {
  const dir = mkdtempSync(join(tmpdir(), "millrace-chart-"));
  try {
    const file = join(dir, "values.json");
    writeFileSync(file, JSON.stringify(values));
    const flags = ["--namespace", namespace, "--kube-version", "1.36", "--values", file];
    const env = { ...process.env, HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir };
    return execFileSync(kubernetesProgram("helm"), ["template", "millrace", chart, ...flags], {
      encoding: "utf8",
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export function chartManifests(options: ChartOptions = {}): Manifest[] {
  return parseAllDocuments(chartText(options))
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}
