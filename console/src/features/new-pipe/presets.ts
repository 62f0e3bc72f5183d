/** What a pipe can read from. Each vendor is a kind of source with the type that the API gives it. */
import {
  type SourceKindKey,
  sourceDescriptions,
  sourceKindKeys,
} from "../../../../src/sources/contract/descriptions.ts";

export type Preset = {
  readonly kind: SourceKindKey;
  /** The member `type` of the source. */
  readonly type: string | undefined;
  readonly label: string;
  /** Values of inputs that the choice sets. */
  readonly values: Readonly<Record<string, string>>;
};

const groups = [
  { group: "messages", title: "Streams of messages", text: "Topics and streams, followed from an offset." },
  { group: "applications", title: "Applications", text: "What they send over HTTP: events, webhooks, telemetry." },
  { group: "objects", title: "Object storage", text: "Files in a bucket, once or as they arrive." },
  { group: "databases", title: "Databases", text: "Tables with all their later changes." },
] as const;

export const presetGroups: readonly {
  readonly title: string;
  readonly text: string;
  readonly presets: readonly Preset[];
}[] = groups.map(({ group, title, text }) => {
  const kinds = sourceKindKeys.filter((kind) => sourceDescriptions[kind].group === group);
  const presets = kinds.flatMap((kind) =>
    sourceDescriptions[kind].vendors.map(({ type, label, values = {} }) => ({ kind, type, label, values })),
  );
  return { title, text, presets };
});
