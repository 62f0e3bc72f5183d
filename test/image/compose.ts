/** The options of `docker run` that `compose.yaml` stands for. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { root } from "../../scripts/house.ts";

type Service = {
  readonly read_only: boolean;
  readonly tmpfs: readonly string[];
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly volumes: readonly string[];
};

/** The service `millrace`, without its ports: the container has no network. */
export function composedRun(): { readonly flags: readonly string[]; readonly command: readonly string[] } {
  const text = readFileSync(join(root, "compose.yaml"), "utf8");
  const service = (parse(text) as { services: { millrace: Service } }).services.millrace;
  const each = (flag: string, values: readonly string[]) => values.flatMap((value) => [flag, value]);
  return {
    flags: [
      ...(service.read_only ? ["--read-only"] : []),
      ...each("--tmpfs", service.tmpfs),
      ...each("--cap-drop", service.cap_drop),
      ...each("--security-opt", service.security_opt),
      ...each("--volume", service.volumes),
      ...each(
        "--env",
        Object.entries(service.environment).map(([name, value]) => `${name}=${value}`),
      ),
    ],
    command: service.command,
  };
}
