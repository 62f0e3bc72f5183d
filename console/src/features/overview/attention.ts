/** What needs a person, worst first, from what the lists say. */

import type { LinkProps } from "@tanstack/react-router";
import { alertFindings, type Finding, pipeFindings, serviceFindings } from "../../../../src/api/attention.ts";
import type { OperationResult } from "../../api/client.ts";
import { pipeAddress, pipeErrorsAddress, serviceAddress, serviceSettingsAddress } from "../../lib/addresses.ts";
import { capitalized, durationText, inWords } from "../../lib/format.ts";

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
  const { id, name } = service;
  const links: Partial<Record<Finding["about"], LinkProps>> = {
    backup: { to: "/backups" },
    disk: serviceSettingsAddress(id),
  };
  return serviceFindings(service).map((finding) =>
    shown(id, name, finding, links[finding.about] ?? serviceAddress(id)),
  );
}

function ofPipe(pipe: Pipe): Attention[] {
  const { id, serviceId, name } = pipe;
  return pipeFindings(pipe, durationText).map((finding) => {
    const address = finding.about === "refused" ? pipeErrorsAddress(serviceId, id) : pipeAddress(serviceId, id);
    return shown(id, name, finding, address);
  });
}

function shown(id: string, subject: string, { about, severity, sentence, at }: Finding, link: LinkProps): Attention {
  return { id: `${id}-${about}`, tone: severity, subject, sentence: capitalized(inWords(sentence)), at, link };
}

function ofAlert(alert: Alert): Attention[] {
  const { id, name, displayName } = alert;
  const subject = name ?? displayName ?? `Alert ${id.slice(0, 8)}`;
  const link: LinkProps = { to: "/alerts/$alertId", params: { alertId: id } };
  return alertFindings(alert).map((finding) => shown(id, subject, finding, link));
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
