/** The browser of tests and benchmarks. */
import { existsSync } from "node:fs";

// The first one has no windows, tabs and toolbars of its own, for which the others compute without showing them.
const programs = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** `MILLRACE_CHROMIUM` chooses another one. Undefined where there is none. */
export const chromiumProgram = [process.env.MILLRACE_CHROMIUM, ...programs].find(
  (path) => path !== undefined && existsSync(path),
);
