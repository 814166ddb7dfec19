// Tables of numbers from CSV files, and what to tell their owner.

import type { Table } from "../engine/engine";

export interface Column {
  name: string;
  /** Numbers, NaN where there is none, or null for text. */
  numbers: Float64Array | null;
  texts: string[];
}

export interface Csv {
  columns: Column[];
  rows: number;
  notes: string[];
}

const MOST_ROWS = 5_000; // of which all maps take seconds to a minute
const LEAST_ROWS = 4;
const LARGEST = 1e30; // squares of larger numbers leave the range in which methods compute
const DECIMAL_COMMA = /^[-+]?\d*,\d+(e[-+]?\d+)?$/i;
const MISSING = /^(|na|n\/a|nan|null|none|\?)$/i;
const LABEL = /^(label|labels|class|target|species|kind|category|group|cluster|digit|y)$/i;

/** The fields of every line; those in quotation marks may hold separators and line breaks. */
function fieldsOf(text: string, separator: string): string[][] {
  const lines: string[][] = [];
  let [field, line, quoted] = ["", [] as string[], false];
  const endLine = (): void => {
    line.push(field.trim());
    if (line.length > 1 || line[0] !== "") lines.push(line);
    [field, line] = ["", []];
  };
  for (let at = 0; at < text.length; at++) {
    const letter = text[at]!;
    if (quoted) {
      if (letter !== '"') field += letter;
      else if (text[at + 1] === '"') field += text[++at];
      else quoted = false;
    } else if (letter === '"' && !field.trim()) [field, quoted] = ["", true];
    else if (letter === separator) {
      line.push(field.trim());
      field = "";
    } else if (letter === "\n") endLine();
    else if (letter !== "\r") field += letter;
  }
  endLine();
  return lines;
}

const many = (count: number, what: string): string =>
  `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

export function parseCsv(text: string): Csv {
  if (text.includes("\0"))
    throw new Error(
      "This is not a text file. Save the table as CSV: one row a line, with commas between values.",
    );
  const first = text.slice(0, text.indexOf("\n") >>> 0);
  const counts = [",", "\t", ";"].map((separator) => [first.split(separator).length, separator] as const);
  const [most, separator] = counts.reduce((best, next) => (next[0] > best[0] ? next : best));
  const lines = fieldsOf(text.replace(/^\ufeff/, ""), separator);
  if (!lines.length) throw new Error("The file is empty.");
  if (separator === ";")
    for (const line of lines)
      line.forEach((field, j) => DECIMAL_COMMA.test(field) && (line[j] = field.replace(",", ".")));
  if (most < 2 && lines.some(([only]) => !isNumber(only!)))
    throw new Error(
      "This is not a CSV file: its first line has no commas, semicolons or tabs between values.",
    );
  const ragged = lines.findIndex((line) => line.length !== lines[0]!.length);
  if (ragged > 0)
    throw new Error(
      `Line ${ragged + 1} has ${many(lines[ragged]!.length, "value")}, but the first line has ${lines[0]!.length}.`,
    );
  const named = !lines[0]!.some(isNumber);
  const header = named ? lines.shift()! : lines[0]!.map((_, j) => `column ${j + 1}`);
  if (lines.length < LEAST_ROWS)
    throw new Error(`The file has ${many(lines.length, "row")} of data. A map needs at least ${LEAST_ROWS}.`);
  const notes: string[] = [];
  let kept = lines;
  if (lines.length > MOST_ROWS) {
    const step = Math.ceil(lines.length / MOST_ROWS);
    kept = lines.filter((_, i) => i % step === 0);
    notes.push(
      `The file has ${many(lines.length, "row")}; one in ${step} is shown. The lowdim package maps all of them.`,
    );
  }
  const columns = header.map((name, j) =>
    column(
      name || `column ${j + 1}`,
      kept.map((line) => line[j]!),
    ),
  );
  return { columns, rows: kept.length, notes };
}

const isNumber = (text: string): boolean => text !== "" && Number.isFinite(Number(text));

function column(name: string, texts: string[]): Column {
  const known = texts.filter((text) => !MISSING.test(text));
  if (!known.length || !known.every(isNumber)) return { name, numbers: null, texts };
  return {
    name,
    numbers: Float64Array.from(texts, (text) => (MISSING.test(text) ? NaN : Number(text))),
    texts,
  };
}

/** The columns that colour the points: text, whole numbers that are called labels, then the others. */
export function labelColumns({ columns }: Csv): Column[] {
  const rank = ({ name, numbers }: Column): number => (LABEL.test(name) ? 0 : numbers ? 2 : 1);
  return [...columns].sort((one, other) => rank(one) - rank(other));
}

export interface Data {
  table: Table;
  /** The rows of the file that are mapped. */
  rows: number[];
  notes: string[];
}

/** The table of numbers: without labels, constant columns and rows with missing values. */
export function dataOf(csv: Csv, standardise: boolean): Data {
  const notes = [...csv.notes];
  const texts = csv.columns.filter(({ numbers }) => !numbers);
  const labels = csv.columns.filter(({ name, numbers }) => numbers && LABEL.test(name));
  const used = csv.columns.flatMap(({ name, numbers }) => (numbers && !LABEL.test(name) ? [numbers] : []));
  const list = (columns: Column[]): string => columns.map(({ name }) => `“${name}”`).join(", ");
  if (!used.length)
    throw new Error(
      `No column holds numbers to be mapped${texts.length ? `: ${list(texts.slice(0, 5))} hold text` : ""}.`,
    );
  if (texts.length)
    notes.push(`Columns of text colour the points and are not mapped: ${list(texts.slice(0, 5))}.`);
  if (labels.length) notes.push(`Taken as labels, not mapped: ${list(labels)}.`);
  const rows = Array.from({ length: csv.rows }, (_, i) => i).filter((i) =>
    used.every((numbers) => !isNaN(numbers[i]!)),
  );
  const left = csv.rows - rows.length;
  if (rows.length < LEAST_ROWS)
    throw new Error(
      `${many(left, "row")} of ${csv.rows} lack a value, and ${rows.length} are left: too few for a map.`,
    );
  if (left) notes.push(`Left out for a missing value: ${many(left, "row")}.`);
  if (used.some((numbers) => numbers.some((value) => Math.abs(value) > LARGEST)))
    throw new Error(`The file holds numbers beyond ${LARGEST}: divide its columns by their unit.`);
  const scales = used.map((numbers) => {
    const mean = rows.reduce((sum, i) => sum + numbers[i]!, 0) / rows.length;
    return {
      mean,
      spread: Math.sqrt(rows.reduce((sum, i) => sum + (numbers[i]! - mean) ** 2, 0) / rows.length),
    };
  });
  const varied = scales.filter(({ spread }) => spread > 0);
  if (!varied.length) throw new Error("All rows are equal, so there is nothing to map.");
  const [low, high] = [Math.min, Math.max].map((least) => least(...varied.map(({ spread }) => spread)));
  if (!standardise && varied.length <= 30 && high! > 10 * low!)
    notes.push(
      "The columns have very different scales, so the largest decide the maps: consider standardising them.",
    );
  const values = new Float64Array(rows.length * used.length);
  rows.forEach((i, r) =>
    used.forEach((numbers, j) => {
      const { mean, spread } = scales[j]!;
      values[r * used.length + j] = standardise ? (numbers[i]! - mean) / (spread || 1) : numbers[i]!;
    }),
  );
  return { table: { values, rows: rows.length, columns: used.length }, rows, notes };
}
