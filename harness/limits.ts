/** Limits of organizations in tests: the server's own defaults. */
import { loadConfig, organizationLimits } from "../src/config.ts";
import type { OrganizationLimits } from "../src/store/database/limits.ts";

export const limits: OrganizationLimits = organizationLimits(loadConfig({}, {}));
