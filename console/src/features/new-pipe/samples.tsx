import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { type Column, Table } from "../../parts/table.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import css from "./new-pipe.module.css";

type Sample = OperationResult<"discoverSchema">["samples"][number];

const shownRows = 20;

/** Samples as they arrive, and as rows of the table. Text of a source stays text. */
export function Samples({ samples }: { readonly samples: readonly Sample[] }) {
  const [tab, setTab] = useState<"rows" | "raw">("rows");
  if (samples.length === 0) {
    return <p className="muted">The source has no data yet, so there are no samples: name the columns yourself.</p>;
  }
  const shown = samples.slice(0, shownRows).map((sample, index) => ({ ...sample, index }));
  return (
    <Tabs
      label="Samples"
      value={tab}
      onChange={setTab}
      tabs={[
        { value: "rows", label: "Rows", content: <SampleRows samples={shown} /> },
        { value: "raw", label: "As they arrive", content: <Raw samples={shown} /> },
      ]}
    />
  );
}

type Numbered = Sample & { readonly index: number };

type SampleRowsProps = {
  readonly samples: readonly Numbered[];
  /** Types of columns, where nothing beside it has them. */
  readonly types?: readonly { readonly name: string; readonly type: string }[];
};

export function SampleRows({ samples, types = [] }: SampleRowsProps) {
  const names = [...new Set(samples.flatMap(({ parsed }) => Object.keys(parsed ?? {})))];
  const columns: readonly Column<Numbered>[] = names.map((name) => ({
    key: name,
    header: [name, types.find((one) => one.name === name)?.type].filter(Boolean).join(" · "),
    nowrap: true,
    cell: ({ parsed }) => cellText(parsed?.[name]),
  }));
  return (
    <div className={css.frame}>
      <Table label="Sample rows" rows={samples} columns={columns} rowKey={({ index }) => String(index)} />
    </div>
  );
}

function Raw({ samples }: { readonly samples: readonly Numbered[] }) {
  return (
    <pre className="raw">
      {samples
        .map(({ raw, problem }) => `${raw ?? "(columnar)"}${problem === undefined ? "" : `\n  ${problem}`}`)
        .join("\n")}
    </pre>
  );
}

function cellText(value: unknown): string {
  const text = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
