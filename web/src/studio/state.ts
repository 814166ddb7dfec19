// Everything the page knows, and what changes it: one name for all panels.

export * from "./actions";
export * from "./coordinates";
export * from "./notices";
export { start } from "./server";
export * from "./signals";
