import { Link } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { bytesText, shortCountText } from "../../lib/format.ts";
import { Panel } from "../../parts/page.tsx";
import { KindLabel } from "./kind-icon.tsx";
import type { PipeSummary } from "./list-search.ts";
import { LoadedLinks } from "./loaded-links.tsx";
import { tableOf } from "./pipe-columns.tsx";
import css from "./pipes.module.css";
import { kindOf, type PipeDetails, sourceText } from "./use-pipe.ts";

type SourceStripProps = { readonly pipe: PipeDetails; readonly summary: PipeSummary | undefined };

/** From where to where, and how much. */
export function SourceStrip({ pipe, summary }: SourceStripProps) {
  const { database, table } = pipe.destination;
  const destination = { ...(database ? { database } : {}), ...(table ? { table } : {}) };
  const { rowsPerSecond = 0, bytesPerSecond = 0 } = summary?.rates ?? {};
  return (
    <Panel>
      <div className={css.strip}>
        <div className={css.end}>
          <KindLabel kind={kindOf(pipe)} />
          <span className={css.endName}>{sourceText(pipe)}</span>
        </div>
        <div className={css.flow}>
          <ArrowRight aria-hidden />
          {summary?.rates !== undefined && (
            <span>
              {shortCountText(rowsPerSecond)} rows/s · {bytesText(bytesPerSecond)}/s
            </span>
          )}
        </div>
        <div className={css.end}>
          <span className="muted">Table</span>
          <Link to="/sql" search={{ service: pipe.serviceId }} className={css.endName}>
            {tableOf(destination)}
          </Link>
          <span className="row">
            <LoadedLinks pipe={pipe} />
          </span>
        </div>
      </div>
    </Panel>
  );
}
