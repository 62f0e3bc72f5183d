/** Users and access list of one service in the engine host that its connections are handed over to. */
import type { EndpointAccess } from "../auth/logins.ts";
import type { HandoffSender } from "./sender.ts";

export class Admission {
  readonly #facts: () => EndpointAccess;
  #sent: { readonly to: HandoffSender; readonly done: Promise<void> } | undefined;

  /** `facts` reads what holds now. */
  constructor(facts: () => EndpointAccess) {
    this.#facts = facts;
  }

  /** The host that has them; undefined: none yet. */
  get host(): HandoffSender | undefined {
    return this.#sent?.to;
  }

  /** Connections that are handed over after this call get users and access list. Resolves when the host has them. */
  async admit(to: HandoffSender): Promise<void> {
    if (this.#sent?.to !== to) this.#send(to);
    await this.#sent?.done;
  }

  /** Sends the host what has changed. */
  update(): void {
    if (this.#sent !== undefined) this.#send(this.#sent.to);
  }

  /** Resolves when the host has everything; the last attempt may have failed, and is repeated. */
  async settle(): Promise<void> {
    await this.#sent?.done.catch(async () => {
      this.update();
      await this.#sent?.done;
    });
  }

  #send(to: HandoffSender): void {
    const { id, ipAccessList, users } = this.#facts();
    const done = to.admit({ id, ipAccessList, users });
    done.catch(() => {});
    this.#sent = { to, done };
  }
}
