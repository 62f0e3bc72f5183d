/** Folders that a confined process writes and the control plane reads hold regular files and folders alone. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attempt } from "../../harness/probe.ts";
import { engineRules } from "./process-rules.ts";
import { confinementState } from "./state.ts";

const { confined, sentence } = confinementState();
if (!confined) console.log(`skipped: ${sentence}`);

const house = mkdtempSync(join(tmpdir(), "millrace-folders-"));
const quoted = (...names: string[]) => JSON.stringify(join(house, ...names));
beforeAll(() => {
  for (const name of ["data", "staging", "run"]) mkdirSync(join(house, name));
  writeFileSync(join(house, "secret.key"), "CANARY");
});
afterAll(() => rmSync(house, { recursive: true, force: true }));

const engine = () =>
  engineRules({
    dataDir: join(house, "data"),
    folders: [join(house, "staging"), join(house, "run")],
    connectPorts: [],
    bindPorts: [],
  });

describe.skipIf(!confined)("folders that the control plane reads", () => {
  test("take no link, neither created, moved, nor inside a folder that is moved", async () => {
    const outcomes = await attempt(
      {
        create: `fs.symlinkSync(${quoted("secret.key")}, ${quoted("staging", "link")})`,
        prepare: `{ fs.mkdirSync(${quoted("data", "folder")});
          fs.symlinkSync(${quoted("secret.key")}, ${quoted("data", "folder", "link")}); }`,
        move: `fs.renameSync(${quoted("data", "folder", "link")}, ${quoted("staging", "link")})`,
        hardLink: `fs.linkSync(${quoted("data", "folder", "link")}, ${quoted("staging", "link")})`,
        moveFolder: `fs.renameSync(${quoted("data", "folder")}, ${quoted("staging", "folder")})`,
        moveFolderToRun: `fs.renameSync(${quoted("data", "folder")}, ${quoted("run", "folder")})`,
        device: `run("/bin/mknod", ${quoted("staging", "device")}, "b", "7", "0")`,
        file: `{ fs.writeFileSync(${quoted("data", "file")}, "");
          fs.renameSync(${quoted("data", "file")}, ${quoted("staging", "file")}); }`,
        within: `{ fs.mkdirSync(${quoted("staging", "one")}); fs.mkdirSync(${quoted("data", "one")});
          fs.renameSync(${quoted("staging", "one")}, ${quoted("run", "one")});
          fs.renameSync(${quoted("data", "one")}, ${quoted("data", "folder", "one")}); }`,
      },
      engine(),
    );
    expect(outcomes).toEqual({
      create: "EACCES",
      prepare: "done",
      move: "EACCES",
      hardLink: "EACCES",
      moveFolder: "EXDEV",
      moveFolderToRun: "EXDEV",
      device: "EPERM",
      file: "done",
      within: "done",
    });
  });
});
