/** The access list of a service that only this machine may connect to. */
export const thisMachine = ["127.0.0.1", "::1"].map((source) => ({ source, description: "This machine" }));
