import { serverNow } from "../../api/server-time.ts";
import { TextField } from "../../parts/field.tsx";
import { Select } from "../../parts/select.tsx";

/** `date`: the day of `date` begins in UTC. */
export type Expiry = {
  readonly choice: "never" | "7" | "30" | "90" | "365" | "date" | "same";
  readonly date: string;
};

/** The `expireAt` of a request; undefined: as it is. Dates that are not dates go to the server as they are. */
export function expireAtOf({ choice, date }: Expiry): string | null | undefined {
  if (choice === "same") return undefined;
  if (choice === "never") return null;
  if (choice === "date") return /^\d{4}-\d\d-\d\d$/.test(date) ? `${date}T00:00:00Z` : date;
  return new Date(serverNow() + Number(choice) * 86_400_000).toISOString();
}

const choices: readonly { readonly value: Expiry["choice"]; readonly label: string }[] = [
  { value: "never", label: "Never" },
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "On a date" },
];

type ExpiryFieldProps = {
  readonly value: Expiry;
  readonly onChange: (value: Expiry) => void;
  /** The words for leaving the expiry as it is; absent for something new. */
  readonly same?: string;
  readonly error: string | undefined;
};

export function ExpiryField({ value, onChange, same, error }: ExpiryFieldProps) {
  const options = same === undefined ? choices : [{ value: "same" as const, label: same }, ...choices];
  return (
    <div className="cells pair">
      <Select
        label="Expires"
        value={value.choice}
        options={options}
        error={value.choice === "date" ? undefined : error}
        onChange={(choice) => onChange({ ...value, choice })}
      />
      {value.choice === "date" && (
        <TextField
          type="date"
          label="On (UTC)"
          value={value.date}
          error={error}
          onChange={(date) => onChange({ ...value, date })}
        />
      )}
    </div>
  );
}
