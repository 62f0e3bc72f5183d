import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ownGroups } from "./cgroups.ts";

const root = mkdtempSync(join(tmpdir(), "millrace-groups-"));
for (const folder of ["cpu/system", "memory/one/two", "unified/system.slice/millrace.service"]) {
  mkdirSync(join(root, folder), { recursive: true });
}
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a process's groups are found by controller, below each mount", () => {
  const mounts = [
    `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755`,
    `32 31 0:29 / ${root}/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct`,
    `35 31 0:32 /lxc ${root}/memory rw,relatime - cgroup cgroup rw,memory`,
    `39 31 0:36 / ${root}/pids rw,relatime - cgroup cgroup rw,pids`,
    `41 31 0:38 / ${root}/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate`,
  ].join("\n");
  const own = "8:pids:/not/here\n4:memory:/lxc/one/two\n1:cpu,cpuacct:/system\n0::/system.slice/millrace.service\n";
  expect(ownGroups(own, mounts)).toEqual({
    cpu: join(root, "cpu/system"),
    memory: join(root, "memory/one/two"),
    unified: join(root, "unified/system.slice/millrace.service"),
  });
});

test("without mounts of control groups there are none", () => {
  expect(ownGroups("0::/\n", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n")).toEqual({});
});
