import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { packagesFolder, processFile, programFolders } from "./program.ts";

test("the root modules of processes and the folders of the program exist", () => {
  for (const name of ["engine-host", "pipe-worker", "launcher"]) expect(existsSync(processFile(name)), name).toBe(true);
  for (const folder of programFolders) expect(existsSync(folder), folder).toBe(true);
});

test("packages are in the folder of a checkout, or in the one that holds an installed package", () => {
  expect(packagesFolder("/opt/millrace")).toBe("/opt/millrace/node_modules");
  expect(packagesFolder("/x/node_modules/millrace")).toBe("/x/node_modules");
  expect(packagesFolder("/x/node_modules/.pnpm/millrace@1/node_modules/millrace")).toBe("/x/node_modules");
});
