import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { type ChartDefinition, newChart } from "../../charts/definition.ts";
import { GoneNote } from "../../parts/note.tsx";
import { Page } from "../../parts/page.tsx";
import { Answer } from "../../parts/states.tsx";
import { Explorer } from "./explorer.tsx";
import type { ExploreSearch } from "./search.ts";
import type { Source } from "./source.ts";
import { SourceSuggestions } from "./source-suggestions.tsx";

/** Charts and rows over a source. Nothing here wakes a service but the button that says so. */
export function ExplorePage() {
  const sources = useOperation("listSources", { params: {} }, { pace: "slow" });
  return (
    <Answer query={sources}>{({ data }) => (data.length === 0 ? <NoSource /> : <WithSource sources={data} />)}</Answer>
  );
}

function NoSource() {
  return (
    <Page title="Explore">
      <SourceSuggestions isFirst />
    </Page>
  );
}

function WithSource({ sources }: { readonly sources: readonly Source[] }) {
  const search = useSearch({ strict: false }) as ExploreSearch;
  const navigate = useNavigate();
  const byId = (wanted: string | undefined) => sources.find(({ id }) => id === wanted);
  // A source that is created meanwhile does not take the place of the one that is shown.
  const [first] = useState(sources[0]?.id);
  const source = byId(search.chart.sourceId) ?? byId(first) ?? (sources[0] as Source);
  const change = (next: Partial<ExploreSearch>, replace = false) =>
    // What was found and what is typed meanwhile are both in it: the address is read when it is written.
    void navigate({ to: "/explore", search: (before) => ({ ...before, ...next }) as never, replace });
  useEffect(() => {
    document.title = "Explore · Millrace";
  }, []);
  const chart: ChartDefinition = search.chart.sourceId === source.id ? search.chart : newChart(source.id);
  const isGone = search.chart.sourceId !== "" && search.chart.sourceId !== source.id;
  return (
    <>
      {isGone && <GoneNote what="source">This is {source.name}.</GoneNote>}
      <Explorer {...{ sources, source }} search={{ ...search, chart }} onChange={change} />
    </>
  );
}
