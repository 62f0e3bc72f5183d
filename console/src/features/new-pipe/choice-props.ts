import type { Form } from "./form.ts";
import type { Listing } from "./use-listing.ts";

/** What every picker of the data step gets. */
export type ChoiceProps = {
  readonly form: Form;
  readonly change: (next: Partial<Form>) => void;
  readonly listing: Listing;
  readonly read: (within?: string) => Promise<boolean>;
};
