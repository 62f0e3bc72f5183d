import { FlaskConical, ScanSearch } from "lucide-react";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import { Facts, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import { type BackupDetails, problemOf, proofOf } from "./backup.ts";
import css from "./backups.module.css";
import { ProofIcon } from "./chain.tsx";

type Props = { readonly backup: BackupDetails };

/** What was checked, when, and what was found. */
export function ProofPanel({ backup }: Props) {
  const { tone, word, sentence } = proofOf(backup);
  return (
    <Panel title="Proof" actions={<Checks backup={backup} />}>
      <div className={css.verdict} data-tone={tone}>
        <ProofIcon tone={tone} />
        <h3>{word}</h3>
        <p>{sentence}</p>
      </div>
      {backup.error !== undefined && <Note tone="bad">{backup.error}</Note>}
      {backup.checkRequested !== undefined && (
        <Note>
          {backup.checkRequested === "deep"
            ? "A trial restore is under way: everything is restored into an engine of its own, and its rows are counted."
            : "A check is under way: every file is read back and compared."}
        </Note>
      )}
      {backup.status === "done" && (
        <Facts
          facts={[
            ["Files read back", <RelativeTime key="files" at={backup.verifiedAt} none="never" />],
            ["Restored as a trial", <RelativeTime key="deep" at={backup.deepVerifiedAt} none="not yet" />],
          ]}
        />
      )}
      {backup.problems.length > 0 && <Problems problems={backup.problems} />}
    </Panel>
  );
}

function Checks({ backup }: Props) {
  const change = useChange("verifyBackup", {
    changes: ["getBackup", "listBackups", "listAllBackups"],
    onDone: () => toast("Check requested", "info"),
  });
  const refusal =
    backup.status !== "done"
      ? "Only a backup that is done can be checked."
      : backup.checkRequested === undefined
        ? undefined
        : "A check is under way.";
  const check = (deep: boolean) =>
    change.mutate(
      { params: { serviceId: backup.serviceId, backupId: backup.id }, body: { deep } },
      { onError: toastError },
    );
  const common = { small: true, needs: "developer", refusal, busy: change.isPending } as const;
  return (
    <div className="row">
      <Button {...common} icon={ScanSearch} onClick={() => check(false)}>
        Verify
      </Button>
      <Button {...common} icon={FlaskConical} onClick={() => check(true)}>
        Verify with a trial restore
      </Button>
    </div>
  );
}

/** Findings of the last check, by file. */
export function Problems({ problems }: { readonly problems: readonly string[] }) {
  return (
    <div className="group">
      <h3>{problems.length === 1 ? "Problem" : `Problems (${problems.length})`}</h3>
      <ul className={`group ${css.problems}`}>
        {problems.map((problem) => {
          const { file, sentence } = problemOf(problem);
          return (
            <li key={problem} className={css.problem}>
              {file !== undefined && <code>{file}</code>}
              <span>{sentence}</span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
