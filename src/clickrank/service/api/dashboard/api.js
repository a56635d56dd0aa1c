// Requests to the JSON API, which is the one that all other clients use.

const KEY = "clickrank-key";
const SLOWEST = 20_000; // milliseconds after which a request counts as failed

/** An error of the service. `status` is 0 if the service did not answer. */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function key() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return memory;
  }
}

let memory = null; // for browsers without session storage

export function keepKey(secret) {
  memory = secret;
  try {
    if (secret === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, secret);
  } catch {
    // The key is kept in memory until the page is closed.
  }
}

async function problem(response) {
  let code = "error";
  let message = `The service answered ${response.status}.`;
  try {
    ({ code, message } = (await response.json()).error);
  } catch {
    // The answer is not from the service: a proxy's error page, for example.
  }
  return new ApiError(response.status, code, message);
}

async function request(method, path, { body, signal } = {}) {
  const headers = {};
  const secret = key();
  if (secret !== null) headers.Authorization = `Bearer ${secret}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const limit = AbortSignal.timeout(SLOWEST);
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "away", "The service does not answer.");
  }
  if (!response.ok) throw await problem(response);
  return response;
}

async function json(method, path, options) {
  const response = await request(method, path, options);
  try {
    return response.status === 204 ? null : await response.json();
  } catch (error) {
    if (options?.signal?.aborted) throw error;
    throw new ApiError(0, "away", "The answer of the service was interrupted.");
  }
}

export const get = (path, signal) => json("GET", path, { signal });
export const post = (path, body) => json("POST", path, { body });
export const patch = (path, body) => json("PATCH", path, { body });
export const remove = (path) => json("DELETE", path, {});

/** Return a path of the API: `path(["rankers", name], {limit: 20})`. */
export function path(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  return `/v1/${parts.map(encodeURIComponent).join("/")}${search}`;
}

/** Save a file. A link cannot send a key, so with a key the file is loaded into memory first. */
export async function download(from, name) {
  let href = from;
  if (key() !== null) {
    const response = await request("GET", from);
    href = URL.createObjectURL(await response.blob());
  }
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  if (href !== from) setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
