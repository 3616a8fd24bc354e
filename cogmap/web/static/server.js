// Everything that talks to the server. A recorded source (recorded.js) offers the same functions.

/** The server understood and said no; the message is for the reader. */
export class Refused extends Error {}

/** The server does not answer at all. */
export class Unreachable extends Error {}

export function serverSource() {
  const at = (id) => `/api/maps/${encodeURIComponent(id)}`;
  return {
    live: true,
    maps: () => json("/api/maps"),
    map: (id) => json(at(id)),
    field: (id, [x, y], tau, score) =>
      json(`${at(id)}/field?${query(tau === null ? { x, y } : { x, y, tau, score })}`),
    embedding: (id, tau, method) => json(`${at(id)}/embedding?${query({ tau, method })}`),
    picture: (id, place) => `${at(id)}/picture?${query({ x: place[0], y: place[1] })}`,
    plan: (id, request, onLine, signal) => stream(`${at(id)}/plan`, request, onLine, signal),
    inspect: (id, request) => json(`${at(id)}/inspect`, posted(request)),
    draw: (rows) => json("/api/mazes", posted({ rows })),
    job: (id) => json(`/api/jobs/${encodeURIComponent(id)}`),
    stopJob: (id) => json(`/api/jobs/${encodeURIComponent(id)}`, { method: "DELETE" }),
    jobField: (id, goal, tau) =>
      json(`/api/jobs/${encodeURIComponent(id)}/field?${query({ x: goal[0], y: goal[1], tau })}`),
    health: () => json("/api/health"),
  };
}

export function query(values) {
  return new URLSearchParams(values).toString();
}

export function posted(value, signal) {
  const headers = { "content-type": "application/json" };
  return { method: "POST", headers, body: JSON.stringify(value), signal };
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("the server does not answer");
  }
  if (!answer.ok) throw new Refused(await reason(answer));
  return answer;
}

export async function json(path, options) {
  const answer = await ask(path, options);
  try {
    return await answer.json();
  } catch {
    throw new Unreachable("the server broke off in the middle of an answer");
  }
}

/** One call of onLine for each line of JSON, as it comes. */
export async function stream(path, request, onLine, signal) {
  const answer = await ask(path, posted(request, signal));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Unreachable("the server broke off in the middle of a route");
    }
    if (part.done) break;
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) onLine(JSON.parse(line));
  }
  if (rest.trim()) onLine(JSON.parse(rest));
}

/** The server's own line, or the first of FastAPI's validation errors in words. */
async function reason(answer) {
  const body = await answer.json().catch(() => null);
  const detail = body?.detail;
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail) && detail.length) {
    const where = (detail[0].loc ?? []).slice(1).join(".");
    return where ? `${where}: ${detail[0].msg}` : detail[0].msg;
  }
  return `the server answered ${answer.status}`;
}
