// The scatter view that studio, report and notebook widget share.

export * from "./color";
export { DIM, HIDDEN, Scatter, SHOWN } from "./view";
export type { Events, Mode, Names, Options } from "./view";
