/** versitygw, a real S3 server, where it is installed. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const folder = join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "bin");

export const versitygw = join(folder, "versitygw");

/** Why it cannot be used; undefined when it can. */
export const versitygwMissing = existsSync(versitygw)
  ? undefined
  : `versitygw is missing: GOBIN=${folder} go install github.com/versity/versitygw/cmd/versitygw@latest`;
