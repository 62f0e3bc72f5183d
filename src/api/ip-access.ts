/** Entries of access lists, of services and of API keys. */
import { isIP } from "node:net";
import { z } from "zod";
import { plainText } from "./operation.ts";

export const ipAccess = z.strictObject({
  source: z
    .string()
    .max(64)
    .refine(isAddressOrRange, { error: "must be an IP address or a CIDR range, such as 10.0.0.0/8" }),
  description: plainText(0, 255).optional().default(""),
});

export type AccessListEntry = z.output<typeof ipAccess>;

/** The addresses and ranges of a list. */
export function sourcesOf(list: readonly AccessListEntry[]): string[] {
  return list.map(({ source }) => source);
}

/** The list that admits every address. */
export const anywhere: readonly AccessListEntry[] = [
  { source: "0.0.0.0/0", description: "Anywhere (IPv4)" },
  { source: "::/0", description: "Anywhere (IPv6)" },
];

function isAddressOrRange(value: string): boolean {
  const [address, bits, ...rest] = value.split("/");
  const version = isIP(address ?? "");
  if (version === 0 || rest.length > 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}
