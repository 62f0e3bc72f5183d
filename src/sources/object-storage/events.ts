/** What a queue's message says: events of S3 itself, wrapped by SNS, or from EventBridge. */

export type CreatedObject = { readonly bucket: string; readonly key: string };

type Parsed = {
  readonly Records?: readonly S3Record[];
  readonly Event?: string;
  readonly Type?: string;
  readonly Message?: unknown;
  readonly source?: string;
  readonly "detail-type"?: string;
  readonly detail?: { readonly bucket?: { readonly name?: string }; readonly object?: { readonly key?: string } };
};

type S3Record = {
  readonly eventName?: string;
  readonly s3?: { readonly bucket?: { readonly name?: string }; readonly object?: { readonly key?: string } };
};

/**
 * The objects that a message announces; none when it is about something else, such as a removal or the test message that
 * S3 sends when notifications are set up. Undefined when the message cannot be understood.
 */
export function createdObjects(body: string): CreatedObject[] | undefined {
  const parsed = parse(body);
  if (parsed === undefined) return undefined;
  if (parsed.Type === "Notification" && typeof parsed.Message === "string") return createdObjects(parsed.Message);
  if (parsed.Event === "s3:TestEvent") return [];
  if (parsed.source === "aws.s3" && parsed.detail !== undefined) return fromEventBridge(parsed);
  if (!Array.isArray(parsed.Records)) return undefined;
  const objects: CreatedObject[] = [];
  for (const { eventName, s3 } of parsed.Records as S3Record[]) {
    if (typeof eventName !== "string") return undefined;
    if (!/^(s3:)?ObjectCreated:/.test(eventName)) continue;
    const [bucket, key] = [s3?.bucket?.name, s3?.object?.key];
    if (bucket === undefined || key === undefined) return undefined;
    const decoded = decodeKey(key);
    if (decoded === undefined) return undefined;
    objects.push({ bucket, key: decoded });
  }
  return objects;
}

/** EventBridge carries the key as it is. */
function fromEventBridge({ detail, "detail-type": type }: Parsed): CreatedObject[] | undefined {
  if (type !== "Object Created") return [];
  const [bucket, key] = [detail?.bucket?.name, detail?.object?.key];
  return bucket === undefined || key === undefined ? undefined : [{ bucket, key }];
}

/** S3's own events carry keys as in a form: `+` is a space. */
function decodeKey(key: string): string | undefined {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function parse(body: string): Parsed | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
