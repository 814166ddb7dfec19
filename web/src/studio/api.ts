// Requests to the server. A failure is an Error whose message can be shown.

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...init });
  } catch {
    throw new Refused("The studio's server does not answer.", 0);
  }
  if (response.ok) return response;
  let message = `The server answered ${response.status} ${response.statusText}.`;
  if (response.headers.get("content-type")?.includes("json")) {
    const body = (await response.json()) as { error?: string };
    if (body.error) message = body.error;
  }
  throw new Refused(message, response.status);
}

export async function get<T>(path: string): Promise<T> {
  return (await (await send(path)).json()) as T;
}

export async function post<T>(path: string, body: unknown = {}, method = "POST"): Promise<T> {
  const headers = { "content-type": "application/json" };
  const response = await send(path, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  return (text ? JSON.parse(text) : null) as T;
}

export const patch = <T>(path: string, body: unknown): Promise<T> => post<T>(path, body, "PATCH");
export const remove = (path: string): Promise<null> => post<null>(path, {}, "DELETE");

export async function upload<T>(file: File): Promise<T> {
  const path = `/api/uploads/${encodeURIComponent(file.name)}`;
  const headers = { "content-type": "application/octet-stream" };
  return (await (await send(path, { method: "PUT", headers, body: file })).json()) as T;
}

/** Little-endian numbers, or JSON, as the content type says; null while the server is still computing. */
export async function values(path: string): Promise<ArrayBuffer | Record<string, unknown> | null> {
  const response = await send(path);
  if (response.status === 202) return null;
  const json = response.headers.get("content-type")?.includes("json");
  return json ? ((await response.json()) as Record<string, unknown>) : response.arrayBuffer();
}

export async function floats(path: string): Promise<Float32Array | null> {
  const found = await values(path);
  return found instanceof ArrayBuffer ? new Float32Array(found) : null;
}

/** Asks again until the server has computed the answer. */
export async function patiently<T>(
  ask: () => Promise<T | null>,
  goOn: () => boolean = () => true,
): Promise<T | null> {
  for (let wait = 500; goOn(); wait = Math.min(wait * 1.5, 4000)) {
    const found = await ask();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
  return null;
}

export function download(content: Blob | string, name: string): void {
  const blob = typeof content === "string" ? new Blob([content], { type: "text/plain" }) : content;
  const url = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export async function blobOf(path: string, init?: RequestInit): Promise<Blob> {
  return (await send(path, init)).blob();
}
