// The scatter view that studio, report and notebook widget share.

export * from "./color";
export * from "./scale";
export * from "./facets";
export { DIM, HIDDEN, SHOWN } from "./scene";
export { Scatter } from "./view";
export type { Mode } from "./gestures";
export type { Key } from "./key";
export type { Region } from "./regions";
export type { Arrow, Names } from "./overlay";
export type { Events, Options, ThumbnailOf } from "./view";
