import { useEffect, useRef, useState } from "react";
import { bytesText, counted } from "../../lib/format.ts";
import { Button } from "../../parts/button.tsx";
import { Checkbox, TextField } from "../../parts/field.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { Skeleton } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { type Form, isSent, listedBy, type TableChoice } from "./form.ts";
import css from "./new-pipe.module.css";
import { Refusal, SourceInputs } from "./source-inputs.tsx";
import { StepForm, type StepProps } from "./step-form.tsx";
import { type Listing, useListing } from "./use-listing.ts";

/** What of the source is read, picked from what it has. */
export function DataStep(props: StepProps) {
  return isSent(props.form) ? <SentData {...props} /> : <ListedData {...props} />;
}

function SentData({ form, change, onNext }: StepProps) {
  return (
    <StepForm onNext={onNext}>
      <p className="muted">Applications send the rows, to an address that the page of the pipe shows.</p>
      <SourceInputs step="data" form={form} change={change} error={undefined} />
    </StepForm>
  );
}

function ListedData({ form, change, onNext }: StepProps) {
  const { listing, error, isBusy, read, more } = useListing(form);
  const begun = useRef(false);
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    void read();
  }, [read]);
  return (
    <StepForm
      refusal={nothingChosen(form)}
      onNext={onNext}
      actions={
        <Button busy={isBusy} onClick={() => void read()}>
          List again
        </Button>
      }
    >
      {error !== undefined && <Refusal error={error} form={form} step="data" />}
      {listing === undefined && isBusy && <Skeleton lines={4} />}
      {listing !== undefined && <Choice form={form} change={change} listing={listing} read={read} />}
      {listing?.nextCursor !== undefined && (
        <div className="row">
          <span className="muted">The source has more than these.</span>
          <Button small busy={isBusy} onClick={() => void more()}>
            Show more
          </Button>
        </div>
      )}
      <SourceInputs step="data" form={form} change={change} error={error} />
    </StepForm>
  );
}

function nothingChosen(form: Form): string | undefined {
  const listed = listedBy(form);
  if (listed === "objects") return undefined;
  const chosen = listed === "tables" ? form.tables : form.topics;
  return chosen.length === 0 ? `Choose a ${listed.replace(/s$/, "")}.` : undefined;
}

function Choice(props: ChoiceProps) {
  switch (listedBy(props.form)) {
    case "topics":
    case "streams":
      return <TopicChoice {...props} />;
    case "tables":
      return <TableChoices {...props} />;
    default:
      return <ObjectChoice {...props} />;
  }
}

type Entry = { readonly name: string; readonly detail: string; readonly isPrefix: boolean };

/** The folder of the URL, to look into and to check the pattern against. */
function ObjectChoice({ listing, read }: ChoiceProps) {
  const prefixes = (listing.prefixes ?? []).map(({ prefix, objects, bytes, hasMore }) => ({
    name: prefix,
    detail:
      objects === undefined
        ? ""
        : `${hasMore ? "more than " : ""}${counted(objects, "object")}, ${bytesText(bytes ?? 0)}`,
    isPrefix: true,
  }));
  const objects = (listing.objects ?? []).map(({ key, bytes }) => ({
    name: key,
    detail: bytesText(bytes),
    isPrefix: false,
  }));
  const entries: readonly Entry[] = [...prefixes, ...objects];
  if (entries.length === 0) {
    return <p className="muted">There are no objects here yet. A pipe that loads new ones waits for them.</p>;
  }
  return (
    <div className={css.frame}>
      <Table<Entry, string>
        label="Objects at the source"
        rows={entries}
        rowKey={({ name }) => name}
        columns={[
          { header: "Object", cell: (entry) => <EntryName entry={entry} read={read} /> },
          { header: "Size", align: "end", cell: ({ detail }) => detail },
        ]}
      />
    </div>
  );
}

function EntryName({ entry: { name, isPrefix }, read }: { entry: Entry; read: ChoiceProps["read"] }) {
  if (!isPrefix) return <code>{name}</code>;
  return (
    <button type="button" className={`plain ${css.link}`} onClick={() => void read(name)}>
      <code>{name}</code>
    </button>
  );
}

type Named = { readonly name: string; readonly detail: string };

/** Topics of a broker, several of them; or one stream. */
function TopicChoice({ form, change, listing }: ChoiceProps) {
  const [part, setPart] = useState("");
  const isStream = listedBy(form) === "streams";
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
  const kept = messages === undefined ? "" : `, ${counted(messages, "message")}`;
  return `${counted(partitions, "partition")}${kept}`;
}

function shardText(shards: number | undefined): string {
  return shards === undefined ? "" : counted(shards, "open shard");
}

type Listed = NonNullable<ChoiceProps["listing"]["tables"]>[number];

/** Tables of a database, each with the name that it gets here. */
function TableChoices({ form, change, listing }: ChoiceProps) {
  const [part, setPart] = useState("");
  const all = listing.tables ?? [];
  const shown = all.filter(({ schema, name }) => `${schema}.${name}`.includes(part));
  const set = (tables: readonly TableChoice[]) => change({ tables });
  return (
    <fieldset className={css.choices}>
      <legend>Tables</legend>
      {all.length > 8 && <SearchInput label="Find by name" value={part} onChange={setPart} />}
      {all.length === 0 && <p className="muted">This user may see no table.</p>}
      <div className={css.list}>
        {shown.map((table) => (
          <OneTable key={`${table.schema}.${table.name}`} table={table} chosen={form.tables} set={set} />
        ))}
      </div>
    </fieldset>
  );
}

type OneTableProps = {
  readonly table: Listed;
  readonly chosen: readonly TableChoice[];
  readonly set: (tables: readonly TableChoice[]) => void;
};

function OneTable({
  table: { schema, name, estimatedRows, bytes, primaryKey, isReadable },
  chosen,
  set,
}: OneTableProps) {
  const isSame = (one: TableChoice) => one.schema === schema && one.table === name;
  const own = chosen.find(isSame);
  const others = chosen.filter((one) => !isSame(one));
  const facts = [
    estimatedRows === undefined ? [] : `about ${counted(estimatedRows, "row")}`,
    bytes === undefined ? [] : bytesText(bytes),
    primaryKey.length === 0 ? "no primary key" : `key ${primaryKey.join(", ")}`,
    isReadable ? [] : "this user may not read it",
  ].flat();
  return (
    <div className={css.tableChoice}>
      <Checkbox
        label={`${schema}.${name}`}
        hint={facts.join(" · ")}
        value={own !== undefined}
        disabled={!isReadable}
        onChange={(isChosen) => set(isChosen ? [...others, { schema, table: name, target: name }] : others)}
      />
      {own !== undefined && (
        <TextField
          label="Name here"
          aria-label={`Name here of ${schema}.${name}`}
          value={own.target}
          onChange={(target) => set(chosen.map((one) => (isSame(one) ? { ...one, target } : one)))}
        />
      )}
    </div>
  );
}

/** What every picker of the data step gets. */
type ChoiceProps = {
  readonly form: Form;
  readonly change: (next: Partial<Form>) => void;
  readonly listing: Listing;
  readonly read: (within?: string) => Promise<boolean>;
};
