import { bytesText, countText, durationText } from "../../lib/format.ts";
import { Facts, Panel } from "../../parts/page.tsx";

/** All counters and gauges of the pipe, under the names of the API. */
export function PipeProgress({ progress }: { readonly progress: Readonly<Record<string, number>> }) {
  const names = Object.keys(progress).toSorted();
  return (
    <Panel title="Counters">
      <Facts facts={names.map((name) => [wordsOf(name), textOf(name, progress[name] as number)])} />
    </Panel>
  );
}

/** `fetchedRows` as `Fetched rows`. */
function wordsOf(name: string): string {
  const words = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function textOf(name: string, value: number): string {
  if (/bytes/i.test(name)) return bytesText(value);
  if (/seconds$/i.test(name)) return durationText(value);
  if (/ms$|milliseconds$/i.test(name)) return durationText(value / 1000);
  return countText(value);
}
