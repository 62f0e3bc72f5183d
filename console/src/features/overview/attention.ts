/** What needs a person, worst first, from what the lists say. */

import type { LinkProps } from "@tanstack/react-router";
import type { OperationResult } from "../../api/client.ts";
import { pipeAddress, pipeErrorsAddress, serviceAddress, serviceSettingsAddress } from "../../lib/addresses.ts";
import { countText, durationText } from "../../lib/format.ts";

type Service = OperationResult<"listServices">[number];
type Pipe = OperationResult<"listAllPipes">["pipes"][number];
type Key = OperationResult<"listKeys">[number];
type System = OperationResult<"getSystem">;
type Alert = OperationResult<"listAlerts">["data"][number];

export type Attention = {
  readonly id: string;
  readonly tone: "bad" | "warn";
  /** What it is about. */
  readonly subject: string;
  readonly sentence: string;
  /** Since when, if that is known. */
  readonly at: string | undefined;
  /** Address of the screen that shows it. */
  readonly link: LinkProps;
};

export type Facts = {
  readonly services: readonly Service[];
  readonly pipes: readonly Pipe[];
  readonly alerts?: readonly Alert[] | undefined;
  /** Only an admin sees these two. */
  readonly keys: readonly Key[] | undefined;
  readonly system: System | undefined;
  readonly now: number;
};

const expiresSoonMs = 7 * 86_400_000;
const diskShare = 0.9;
const failingPasses = 3;

export function attentionOf(facts: Facts): Attention[] {
  const found = [
    ...facts.services.flatMap(ofService),
    ...facts.pipes.flatMap(ofPipe),
    ...(facts.alerts ?? []).flatMap(ofAlert),
    ...(facts.keys ?? []).flatMap((key) => ofKey(key, facts.now)),
    ...(facts.system === undefined ? [] : ofSystem(facts.system)),
  ];
  return found.toSorted((a, b) => rank(a) - rank(b) || (b.at ?? "").localeCompare(a.at ?? ""));
}

function rank({ tone }: Attention): number {
  return tone === "bad" ? 0 : 1;
}

function ofService(service: Service): Attention[] {
  const { id, name, state, stateMessage, stateChangedAt, lastBackup } = service;
  const link = serviceAddress(id);
  const found: Attention[] = [];
  if (state === "failed" || state === "degraded" || stateMessage !== undefined) {
    const tone = state === "failed" ? "bad" : "warn";
    found.push({
      id: `${id}-state`,
      tone,
      subject: name,
      sentence: stateMessage ?? `The service is ${state}.`,
      at: stateChangedAt,
      link,
    });
  }
  if (lastBackup?.status === "error") {
    found.push({
      id: `${id}-backup`,
      tone: "bad",
      subject: name,
      sentence: "The last backup failed.",
      at: lastBackup.startedAt,
      link: { to: "/backups" },
    });
  } else if (lastBackup?.verification === "failed") {
    const sentence = "The last backup did not pass its check: it may not be restorable.";
    found.push({
      id: `${id}-backup`,
      tone: "bad",
      subject: name,
      sentence,
      at: lastBackup.verifiedAt,
      link: { to: "/backups" },
    });
  }
  const { diskGb, diskUsedBytes } = service;
  if (diskGb !== undefined && diskUsedBytes !== undefined && diskUsedBytes > diskShare * diskGb * 2 ** 30) {
    const share = Math.round((diskUsedBytes / (diskGb * 2 ** 30)) * 100);
    const sentence = `${share} % of the disk quota is used; above it the service accepts no more data.`;
    found.push({
      id: `${id}-disk`,
      tone: share >= 100 ? "bad" : "warn",
      subject: name,
      sentence,
      at: undefined,
      link: serviceSettingsAddress(id),
    });
  }
  return found;
}

function ofPipe(pipe: Pipe): Attention[] {
  const { id, serviceId, name, state, stateMessage, lastError, lag } = pipe;
  const link = pipeAddress(serviceId, id);
  const found: Attention[] = [];
  if (["Failed", "Degraded", "InternalError", "Unknown"].includes(state)) {
    const sentence = stateMessage ?? lastError?.message ?? `The pipe is ${state.toLowerCase()}.`;
    const tone = state === "Degraded" ? "warn" : "bad";
    found.push({ id: `${id}-state`, tone, subject: name, sentence, at: pipe.stateChangedAt ?? lastError?.at, link });
  } else if (lag?.trend === "growing" && (lag.seconds ?? 0) >= 60) {
    const sentence = `${durationText(lag.seconds ?? 0)} behind its source, and the distance grows.`;
    found.push({ id: `${id}-lag`, tone: "warn", subject: name, sentence, at: undefined, link });
  }
  if ((pipe.errors ?? 0) > 0) {
    const sentence = refusedText(pipe);
    const address = pipeErrorsAddress(serviceId, id);
    found.push({ id: `${id}-errors`, tone: "warn", subject: name, sentence, at: undefined, link: address });
  }
  return found;
}

function refusedText({ errors = 0, rows = 0 }: Pipe): string {
  const share = (100 * errors) / (errors + rows);
  const part = share < 1 ? "less than 1 %" : `${Math.round(share)} %`;
  return `${countText(errors)} refused since it was created, ${part} of what came.`;
}

function ofAlert({ id, name, displayName, state }: Alert): Attention[] {
  if (state !== "ALERT") return [];
  const subject = name ?? displayName ?? `Alert ${id.slice(0, 8)}`;
  const link: LinkProps = { to: "/alerts/$alertId", params: { alertId: id } };
  return [{ id: `${id}-alert`, tone: "bad", subject, sentence: "The alert fires.", at: undefined, link }];
}

function ofKey(key: Key, now: number): Attention[] {
  if (key.state !== "enabled" || key.expireAt == null) return [];
  const left = Date.parse(key.expireAt) - now;
  if (left > expiresSoonMs) return [];
  const sentence = left <= 0 ? "The key has expired." : `The key expires in ${durationText(left / 1000)}.`;
  return [
    {
      id: key.id,
      tone: left <= 0 ? "bad" : "warn",
      subject: key.name,
      sentence,
      at: undefined,
      link: { to: "/access" },
    },
  ];
}

function ofSystem({ loops, disk }: System): Attention[] {
  const failing = loops.filter(({ consecutiveFailures }) => consecutiveFailures >= failingPasses);
  const found: Attention[] = failing.map(({ name, consecutiveFailures, lastError }) => ({
    id: `loop-${name}`,
    tone: "bad",
    subject: `Loop ${name}`,
    sentence: `Failed ${consecutiveFailures} times in a row. ${lastError ?? ""}`.trim(),
    at: undefined,
    link: { to: "/system" },
  }));
  if (disk.freeBytes < (1 - diskShare) * disk.totalBytes) {
    const left = Math.round((disk.freeBytes / disk.totalBytes) * 100);
    const sentence = `${left} % of the disk of the data folder are free.`;
    found.push({
      id: "disk",
      tone: left < 3 ? "bad" : "warn",
      subject: "Disk of the server",
      sentence,
      at: undefined,
      link: { to: "/system" },
    });
  }
  return found;
}
