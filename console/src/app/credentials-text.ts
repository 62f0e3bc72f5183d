type Credentials = { readonly keyId: string; readonly keySecret: string };

/** The key in pasted text: `id:secret`, or JSON with `keyId` and `keySecret`. */
export function credentialsIn(text: string): Credentials | undefined {
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) return ofJson(trimmed);
  const pair = /^([\w-]+):(\S+)$/.exec(trimmed);
  return pair === null ? undefined : { keyId: pair[1] as string, keySecret: pair[2] as string };
}

function ofJson(text: string): Credentials | undefined {
  try {
    const { keyId, keySecret } = JSON.parse(text) as Partial<Record<keyof Credentials, unknown>>;
    return typeof keyId === "string" && typeof keySecret === "string" ? { keyId, keySecret } : undefined;
  } catch {
    return undefined;
  }
}
