import { useState } from "react";
import { countText } from "../../lib/format.ts";
import { Checkbox } from "../../parts/field.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import type { ChoiceProps } from "./choice-props.ts";
import css from "./new-pipe.module.css";

type Named = { readonly name: string; readonly detail: string };

/** Topics of a broker, several of them; or one stream. */
export function TopicChoice({ form, change, listing }: ChoiceProps) {
  const [part, setPart] = useState("");
  const isStream = form.kind === "managedStream";
  const all: readonly Named[] = isStream
    ? (listing.streams ?? []).map(({ name, openShards }) => ({ name, detail: shardText(openShards) }))
    : (listing.topics ?? []).map(({ name, partitions, messages }) => ({
        name,
        detail: topicText(partitions, messages),
      }));
  const shown = all.filter(({ name }) => name.includes(part));
  const choose = (name: string, isChosen: boolean) => {
    const others = isStream ? [] : form.topics.filter((topic) => topic !== name);
    change({ topics: isChosen ? [...others, name] : others });
  };
  return (
    <fieldset className={css.choices}>
      <legend>{isStream ? "Stream" : "Topics"}</legend>
      {all.length > 8 && <SearchInput label="Find by name" value={part} onChange={setPart} />}
      {all.length === 0 && <p className="muted">The source has none that this user may see.</p>}
      <div className={css.list}>
        {shown.map(({ name, detail }) => (
          <Checkbox
            key={name}
            label={name}
            hint={detail}
            value={form.topics.includes(name)}
            onChange={(isChosen) => choose(name, isChosen)}
          />
        ))}
      </div>
    </fieldset>
  );
}

function topicText(partitions: number, messages: number | undefined): string {
  const kept = messages === undefined ? "" : `, ${countText(messages)} messages`;
  return `${partitions} ${partitions === 1 ? "partition" : "partitions"}${kept}`;
}

function shardText(shards: number | undefined): string {
  return shards === undefined ? "" : `${shards} open ${shards === 1 ? "shard" : "shards"}`;
}
