import { LayoutDashboard } from "lucide-react";
import { useState } from "react";
import { resultLook } from "../../charts/result-series.ts";
import { SaveChartDialog } from "../../charts/save-chart-dialog.tsx";
import { StatementChart } from "../../charts/statement-chart.tsx";
import type { RunState, Statement } from "../../grid/query-run.ts";
import { Button } from "../../parts/button.tsx";
import css from "./result.module.css";

type ResultChartProps = { readonly statement: Statement; readonly state: RunState };

/** A chart of chosen columns, which a dashboard can keep with its statement. */
export function ResultChart({ statement, state }: ResultChartProps) {
  const [look, setLook] = useState(() => resultLook({}));
  const [isSaving, setSaving] = useState(false);
  const add = (
    <Button small needs="developer" icon={LayoutDashboard} onClick={() => setSaving(true)}>
      Add to dashboard
    </Button>
  );
  return (
    <div className={css.chart}>
      <StatementChart name="Result" result={state} look={look} onLook={setLook} height={260} actions={add} />
      {isSaving && (
        <SaveChartDialog
          content={{ kind: "statement", ...statement, look }}
          title=""
          onClose={() => setSaving(false)}
        />
      )}
    </div>
  );
}
