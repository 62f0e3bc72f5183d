/**
 * The API server, controller manager and scheduler of Kubernetes, kwok, Helm and etcd, outside of the repository in
 * `$MILLRACE_CACHE/kubernetes` (default `~/.cache/millrace/kubernetes`). Built from the Go module proxy, once; etcd is
 * taken from Debian's package without installing it.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { requireTool } from "../missing.ts";

const versions = { kubernetes: "v1.36.3", helm: "v3.22.0", kwok: "v0.8.0" };
const sources = fileURLToPath(new URL("control-plane", import.meta.url));
const cache = join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "kubernetes");
const bin = join(cache, "bin");

/** One program under three names. */
const controlPlane = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;

export type KubernetesProgram = (typeof controlPlane)[number] | "kwok" | "helm" | "etcd";

export function kubernetesProgram(name: KubernetesProgram): string {
  return join(bin, name);
}

/** What kwok does with nodes and pods, in files of its module; without them it does nothing. */
const kwokStages = [
  "node/fast/node-initialize.yaml",
  "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
  "pod/fast/pod-ready.yaml",
  "pod/fast/pod-delete.yaml",
];

/** The flags of kwok that name these files. */
export function kwokStageFlags(): string[] {
  return kwokStages.map((file) => `--config=${join(cache, "kwok", basename(file))}`);
}

/** Why there is no cluster for tests; undefined when there can be one. Builds nothing. */
export function kubernetesMissing(): string | undefined {
  const needed: readonly KubernetesProgram[] = [...controlPlane, "etcd", "kwok", "helm"];
  const absent = needed.filter((name) => !existsSync(kubernetesProgram(name)));
  return absent.length === 0
    ? undefined
    : `no ${absent.join(", ")} in ${bin}; npm run test:kubernetes builds them in a quarter of an hour of processor time`;
}

/** Builds what is missing. Throws MissingTool with one sentence when the machine lacks a tool. */
export function buildKubernetes(say: (line: string) => void): void {
  mkdirSync(bin, { recursive: true });
  const steps: readonly (readonly [names: readonly KubernetesProgram[], build: () => void])[] = [
    [controlPlane, buildControlPlane],
    [["helm"], () => install("helm.sh/helm/v3/cmd/helm", versions.helm)],
    [["kwok"], buildKwok],
    [["etcd"], unpackEtcd],
  ];
  for (const [names, build] of steps) {
    if (names.every((name) => existsSync(kubernetesProgram(name)))) continue;
    const started = performance.now();
    build();
    say(`built ${names.join(", ")} in ${Math.round((performance.now() - started) / 1000)} s`);
  }
}

function buildControlPlane(): void {
  const folder = join(cache, "build");
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(sources)) copyFileSync(join(sources, name), join(folder, name));
  const [, minor] = versions.kubernetes.split(".");
  const given = Object.entries({ gitVersion: versions.kubernetes, gitMajor: "1", gitMinor: minor });
  const stamps = given.map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  const [program, ...others] = controlPlane;
  const flags = ["-trimpath", "-ldflags", `-s -w ${stamps.join(" ")}`, "-o", kubernetesProgram(program)];
  // The module's tests require modules that the proxy does not have, so that `go mod tidy` fails.
  runGo(["build", ...flags, "."], folder, { GOFLAGS: "-mod=mod" });
  for (const name of others) {
    rmSync(kubernetesProgram(name), { force: true });
    linkSync(kubernetesProgram(program), kubernetesProgram(name));
  }
}

function buildKwok(): void {
  const folder = join(cache, "kwok");
  mkdirSync(folder, { recursive: true });
  const module = `sigs.k8s.io/kwok@${versions.kwok}`;
  const { Dir } = JSON.parse(runGo(["mod", "download", "-json", module], cache, {})) as { Dir: string };
  for (const file of kwokStages) {
    rmSync(join(folder, basename(file)), { force: true });
    copyFileSync(join(Dir, "kustomize", "stage", file), join(folder, basename(file)));
  }
  install("sigs.k8s.io/kwok/cmd/kwok", versions.kwok);
}

function install(module: string, version: string): void {
  runGo(["install", "-trimpath", "-ldflags", "-s -w", `${module}@${version}`], cache, { GOBIN: bin });
}

function runGo(args: readonly string[], cwd: string, env: Readonly<Record<string, string>>): string {
  requireTool(has("go", ["version"]) ? undefined : "Kubernetes is built with Go 1.26: https://go.dev/dl");
  return execFileSync("nice", ["-n", "15", "go", ...args], {
    cwd,
    env: { ...process.env, CGO_ENABLED: "0", ...env },
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
}

function unpackEtcd(): void {
  const isDebian = has("apt-get", ["--version"]) && has("dpkg-deb", ["--version"]);
  requireTool(isDebian ? undefined : `etcd is taken from Debian's package etcd-server: link one to ${bin}/etcd`);
  const folder = mkdtempSync(join(tmpdir(), "millrace-etcd-"));
  try {
    execFileSync("apt-get", ["download", "etcd-server"], { cwd: folder, stdio: "ignore" });
    const [file = ""] = readdirSync(folder);
    execFileSync("dpkg-deb", ["-x", file, "unpacked"], { cwd: folder, stdio: "ignore" });
    copyFileSync(join(folder, "unpacked", "usr", "bin", "etcd"), kubernetesProgram("etcd"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function has(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
