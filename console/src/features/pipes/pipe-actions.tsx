/** What can be done with a pipe: in its menu of the list and in the head of its page. */
import { useNavigate } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import { useChange } from "../../api/queries.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { Note } from "../../parts/note.tsx";
import { Select } from "../../parts/select.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import type { PipeKind, PipeState } from "./list-search.ts";

/** Start or stop, whichever applies. */
export function StateButton({ pipe }: { readonly pipe: PipeSubject }) {
  const { send, busy } = useCommand(pipe);
  const command = isResting(pipe.state) ? "start" : "stop";
  return (
    <Button needs="developer" busy={busy} onClick={() => void send(command)}>
      {command === "start" ? "Start" : "Stop"}
    </Button>
  );
}

type PipeMenuProps = {
  readonly pipe: PipeSubject;
  /** With start and stop, where no button has them. */
  readonly withState?: boolean;
  readonly onDeleted?: () => void;
};

export function PipeMenu({ pipe, withState, onDeleted }: PipeMenuProps) {
  const [asked, setAsked] = useState<"resync" | "delete">();
  const navigate = useNavigate();
  const { send } = useCommand(pipe);
  const close = () => setAsked(undefined);
  const command = isResting(pipe.state) ? "start" : "stop";
  return (
    <>
      <Menu trigger={<IconButton small label={`Actions of ${pipe.name}`} icon={Ellipsis} />}>
        {withState && (
          <MenuItem needs="developer" onSelect={() => void send(command)}>
            {command === "start" ? "Start" : "Stop"}
          </MenuItem>
        )}
        <MenuItem
          needs="developer"
          onSelect={() =>
            void navigate({ to: "/new-pipe", search: { clone: `${pipe.serviceId}/${pipe.id}`, step: 2 } })
          }
        >
          Clone …
        </MenuItem>
        {!sourceDescriptions[pipe.kind].hasInbox && (
          <MenuItem needs="developer" onSelect={() => setAsked("resync")}>
            Resync …
          </MenuItem>
        )}
        <MenuSeparator />
        <MenuItem danger needs="developer" onSelect={() => setAsked("delete")}>
          Delete …
        </MenuItem>
      </Menu>
      {asked === "resync" && <ResyncDialog pipe={pipe} onClose={close} />}
      {asked === "delete" && <DeleteDialog pipe={pipe} onClose={close} onDeleted={onDeleted} />}
    </>
  );
}

/** Where nothing else helps. */
export function ResyncButton({ pipe }: { readonly pipe: PipeSubject }) {
  const [isAsked, ask] = useState(false);
  return (
    <>
      <Button needs="developer" look="primary" onClick={() => ask(true)}>
        Resync …
      </Button>
      {isAsked && <ResyncDialog pipe={pipe} onClose={() => ask(false)} />}
    </>
  );
}

type DeleteProps = { pipe: PipeSubject; onClose: () => void; onDeleted: (() => void) | undefined };

function DeleteDialog({ pipe, onClose, onDeleted }: DeleteProps) {
  const { id, serviceId, name, kind } = pipe;
  const { makes } = sourceDescriptions[kind];
  const change = useChange("deletePipe", {
    changes: pipeReads,
    onDone: () => {
      toast(`${name} is deleted. Its table stays.`);
      onDeleted?.();
    },
  });
  const remove = () => change.mutateAsync({ params: { serviceId, pipeId: id } });
  return (
    <ConfirmDialog title={`Delete ${name}`} action="Delete" danger typed={name} onConfirm={remove} onClose={onClose}>
      <p>The pipe and its position in the source are deleted. The destination table and its rows stay.</p>
      {makes !== undefined && <Note>What the pipe has made at its source is removed: {makes}.</Note>}
    </ConfirmDialog>
  );
}

type Rows = "keep" | "truncate";

/** Loads everything again. What becomes of the rows that are there is the user's choice, and said before. */
function ResyncDialog({ pipe, onClose }: { readonly pipe: PipeSubject; readonly onClose: () => void }) {
  const [rows, setRows] = useState<Rows>("truncate");
  const change = useChange("updatePipeState", {
    changes: pipeReads,
    onDone: () => toast(`${pipe.name} begins again.`, "info"),
  });
  const copiesTables = sourceDescriptions[pipe.kind].listing.of === "tables";
  const params = { serviceId: pipe.serviceId, pipeId: pipe.id };
  const body = { command: "resync" as const, ...(copiesTables ? {} : { rows }) };
  return (
    <ConfirmDialog
      title={`Resync ${pipe.name}`}
      action="Resync"
      danger={!copiesTables && rows === "truncate"}
      needs="developer"
      onConfirm={() => change.mutateAsync({ params, body })}
      onClose={onClose}
    >
      {copiesTables ? (
        <p>
          All tables are copied again into new tables, which take the place of the old ones when they are complete.
          Queries see the old rows until then.
        </p>
      ) : (
        <>
          <p>The pipe reads its source from the beginning again.</p>
          <Select<Rows>
            label="Rows that are in the table"
            value={rows}
            onChange={setRows}
            options={[
              { value: "truncate", label: "Delete them first" },
              { value: "keep", label: "Keep them: rows that are loaded again are there twice" },
            ]}
          />
        </>
      )}
    </ConfirmDialog>
  );
}

export type PipeSubject = {
  readonly id: string;
  readonly serviceId: string;
  readonly name: string;
  readonly kind: PipeKind;
  readonly state: PipeState;
};

const restingStates: readonly PipeState[] = ["Stopped", "Stopping", "Paused", "Completed", "Failed"];

/** Whether the next command is a start. */
function isResting(state: PipeState): boolean {
  return restingStates.includes(state);
}

/** Operations that show a pipe. */
export const pipeReads = ["listAllPipes", "getPipe", "listActivities"] as const;

function useCommand({ id, serviceId, name }: PipeSubject) {
  const change = useChange("updatePipeState", { changes: pipeReads });
  const params = { serviceId, pipeId: id };
  const send = (command: "start" | "stop") =>
    change
      .mutateAsync({ params, body: { command } })
      .then(() => toast(command === "start" ? `${name} starts.` : `${name} stops.`, "info"), toastError);
  return { send, busy: change.isPending };
}
