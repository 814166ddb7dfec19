// What the server sends.

export type Role = "feature" | "label" | "id" | "image" | "ignore" | "text";

export interface Column {
  name: string;
  kind: "number" | "category" | "date" | "text" | "id";
  role: Role;
  missing: number;
  distinct: number;
  histogram?: number[];
  low?: number;
  high?: number;
  /** Of dates: the day from which the values count, in days since 1970. */
  origin?: number;
  top?: [string, number][];
}

export interface Dataset {
  id: string;
  name: string;
  n: number;
  d: number | null;
  columns: Column[];
  more?: number;
  label: string | null;
  ids: string | null;
  images: { shape: number[] } | null;
  standardize: boolean;
  counts?: boolean | null; // whether counts are normalised; null if the features do not look like counts
  transpose?: boolean; // whether the columns of the file are the objects
  labels_known: boolean;
  metric?: string | null;
  /** What the reader could change, and what else is to be known. */
  hints?: string[];
  notes?: string[];
  /** What happens to missing values. */
  missing?: string;
  /** What the reader wrote on objects, by row. */
  annotations: Readonly<Record<string, string>>;
}

export type Status = "queued" | "running" | "paused" | "done" | "stopped" | "failed";
export type Value = number | string | boolean | null;

export interface MapInfo {
  id: string;
  number: number;
  dataset: string;
  method: string;
  title: string;
  parameters: Record<string, Value>;
  rows: number | null;
  /** What the map was made of, in words, and a key that maps of the same data share. */
  made_of: string;
  data_key: string;
  /** What is to be known of the data, such as a column that outweighs all others. */
  hints: string[];
  status: Status;
  iteration: number;
  total: number | null;
  loss: number | null;
  losses: (number | [number, number])[];
  seconds: number;
  seconds_left: number | null;
  n: number;
  dim: number;
  frames: number;
  live: string[];
  error: string | null;
  warnings: string[];
  decodes: boolean;
  /** Number of objects that are held at places that the reader chose. */
  pins: number;
  phase?: string;
  /** Iterations per second at most; null is full speed. */
  pace?: number | null;
  /** Iterations of the snapshots. */
  snapshots?: number[];
}

export interface Parameter {
  name: string;
  kind: "int" | "float" | "bool" | "choice" | "text";
  default: Value;
  choices?: (string | null)[];
  /** Values that are no numbers, such as "auto". */
  special?: (string | null)[];
  min?: number;
  max?: number;
  log?: boolean;
  help: string;
  live: boolean;
  advanced: boolean;
}

export interface Method {
  name: string;
  title: string;
  family: string;
  summary: string;
  live: boolean;
  /** Whether objects can be held at places. */
  pins: boolean;
  doc: string;
  keeps?: string;
  when?: string;
  cost?: string;
  paper?: string;
  parameters: Parameter[];
}

export interface ToySlider {
  name: string;
  label: string;
  min: number;
  max: number;
  step: number;
  default: number;
  log?: boolean;
}

export interface Toy {
  name: string;
  title: string;
  about: string;
  sliders: ToySlider[];
}

export interface FileEntry {
  name: string;
  folder: boolean;
  size: number;
}

export interface RecordOf {
  row: number;
  id: string | null;
  label: string | null;
  values: [string, Value][];
  image: string | null;
}

export interface Measure {
  name: string;
  label: string;
  value: number;
  margin?: number | null;
  better?: string;
  meaning: string;
}

export interface Quality {
  measures: Measure[];
  verdict?: string;
  r_nx?: [number, number][];
  shepard?: [number, number][];
  warnings?: string[];
  sample?: number | null;
}

/** What changes from a map to another: shares of neighbours that are kept. */
export interface Changes {
  kept: number;
  expected: number; // by chance
  n_neighbors: number;
  regions: { region: number; name: string; size: number; kept: number | null; mixed_with: string | null }[];
}

export interface Difference {
  name: string;
  /** The category, where the column has categories. */
  value?: string;
  effect: number;
  inside: Value;
  outside: Value;
}

export interface SelectionFacts {
  n: number;
  columns: Difference[];
  categories: Difference[];
}

/** A feature that a map follows. */
export interface Reason {
  name: string;
  /** Share of its variance that the position on the map predicts, and that a plane over the map does. */
  r2: number;
  linear: number;
  slope: number[];
}

export interface Suspect {
  row: number;
  score: number;
  label: string | null;
  neighbours_label: string | null;
  why: string;
}

export interface Suspects {
  objects: Suspect[];
  /** The number of objects among which they were sought, if not among all. */
  sample: number | null;
}

export interface Layout {
  shown?: string[];
  active?: string | null;
  dataset?: string | null;
  color?: string;
  names?: boolean;
  fields?: string[];
  align?: boolean;
  theme?: "auto" | "light" | "dark";
  method?: string;
}

export interface State {
  datasets: Dataset[];
  maps: MapInfo[];
  layout: Layout;
  root: string;
  version?: string;
}
