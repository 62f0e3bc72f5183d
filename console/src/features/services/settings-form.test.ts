import { expect, onTestFinished, test, vi } from "vitest";
import type { Service } from "./service.ts";
import { differencesOf, saveSettings, settingsOf } from "./settings-form.ts";

const service = {
  name: "web",
  tags: [{ key: "team", value: "a" }, { key: "live" }],
  maxReplicaMemoryGb: 4,
  idleScaling: true,
  idleTimeoutMinutes: 15,
} as unknown as Service;
const backups = { backupPeriodInHours: 24, backupRetentionPeriodInHours: 168, backupStartTime: null };

test("a form that is not touched changes nothing", () => {
  const form = settingsOf(service, backups);
  expect(form).toMatchObject({ tags: "team=a, live", disk: "", retentionDays: "7", releaseChannel: "default" });
  expect(differencesOf(form, settingsOf(service, backups))).toEqual([]);
});

test("every difference is named with its value before and after", () => {
  const form = settingsOf(service, backups);
  expect(differencesOf(form, { ...form, idle: false, disk: "10", backupTime: "03:00" })).toEqual([
    { member: "disk", label: "Disk quota in GiB", before: "none", after: "10" },
    { member: "idle", label: "Sleep while nobody asks it", before: "yes", after: "no" },
    { member: "backupTime", label: "Daily backup at (UTC)", before: "none", after: "03:00" },
  ]);
});

test("text that is not a number reaches the server, which refuses it", async () => {
  const sent: unknown[] = [];
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal("fetch", async (_path: string, { body }: { readonly body: string }) => {
    sent.push(JSON.parse(body));
    return Response.json({ result: { version: 2 } });
  });
  const form = settingsOf(service, backups);
  const after = { ...form, disk: "20 GB", idleMinutes: "30 min", retentionDays: "7 days" };
  await saveSettings({ service, form }, after, async () => {});
  expect(sent).toEqual([
    { idleTimeoutMinutes: "30 min" },
    { diskGb: "20 GB" },
    { backupRetentionPeriodInHours: "7 days", backupStartTime: null, backupPeriodInHours: 24 },
  ]);
});

test("what was saved before a refusal is told, so that the next attempt begins with it", async () => {
  onTestFinished(() => void vi.unstubAllGlobals());
  const refused = { status: 400, code: "BAD_REQUEST", error: "BAD_REQUEST: no", requestId: "1" };
  vi.stubGlobal("fetch", async (path: string) =>
    path.endsWith("/replicaScaling")
      ? Response.json({ result: { version: 2 } })
      : Response.json(refused, { status: 400 }),
  );
  const form = settingsOf(service, backups);
  const onPart = vi.fn(async () => {});
  await expect(saveSettings({ service, form }, { ...form, name: "" }, onPart)).rejects.toThrow("no");
  expect(onPart).not.toHaveBeenCalled();
  await expect(saveSettings({ service, form }, { ...form, name: "", idle: false }, onPart)).rejects.toThrow("no");
  expect(onPart).toHaveBeenCalledTimes(1);
});
