// Requests to this host. Every failure is an `ApiError` that names the cause and, if known, what to do.

export class ApiError extends Error {
  constructor(status, { code, message, hint, server } = {}) {
    super(message || `the host answered with status ${status}`);
    Object.assign(this, { status, code, hint, server });
  }
}

export async function request(method, path, body) {
  const init = { method, headers: { accept: "application/json" }, credentials: "same-origin" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers["content-type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new ApiError(0, { message: "the host cannot be reached", hint: "is `switchboard serve` still running?" });
  }
  const text = await response.text();
  let data;
  try {
    data = text ? JSON.parse(text) : undefined;
  } catch {
    throw new ApiError(response.status, {});
  }
  if (!response.ok) {
    if (response.status === 401) dispatchEvent(new Event("switchboard:login"));
    throw new ApiError(response.status, data?.error ?? {});
  }
  return data;
}

export const get = (path) => request("GET", path);
export const post = (path, body = {}) => request("POST", path, body);
export const del = (path) => request("DELETE", path);

/**
 * The one event stream of a page. It reconnects by itself and goes on after the last entry that was seen. A page that
 * nobody looks at lets go of it: a browser has six connections to a host, for all its tabs.
 * `hear` gets (kind, data); `state` gets "open", "lost", "away" while nobody looks, or "full" where the host has no
 * place for another stream.
 */
export function listen({ session, after }, hear, state) {
  let last = after, source, timer, wait = 500, closed = false;
  // A stream does not say why it cannot be opened. Where the host is there and wants a login, the gate is shown.
  const again = () => request("HEAD", "/events").then(open, (error) => {
    if (closed || document.hidden || error.status === 401) return;
    state(error.status === 503 ? "full" : "lost");
    timer = setTimeout(again, wait);
    wait = Math.min(wait * 2, 10_000);
  });
  const letGo = () => {
    clearTimeout(timer);
    source?.close();
  };
  const open = () => {
    letGo();
    if (closed || document.hidden) return;
    const query = new URLSearchParams();
    if (session) query.set("session", session);
    if (session) query.set("after", String(last));
    source = new EventSource(`/events?${query}`);
    source.onopen = () => { wait = 500; state("open"); };
    source.onerror = () => {
      letGo();
      if (closed) return;
      state("lost");
      timer = setTimeout(again, wait);
      wait = Math.min(wait * 2, 10_000);
    };
    for (const kind of ["entry", "servers", "sessions"]) {
      source.addEventListener(kind, (event) => {
        const data = JSON.parse(event.data);
        if (kind === "entry") {
          if (data.seq <= last) return;
          last = data.seq;
        }
        hear(kind, data);
      });
    }
  };
  const looked = () => {
    open();
    if (document.hidden) state("away");
  };
  document.addEventListener("visibilitychange", looked);
  looked();
  return () => {
    closed = true;
    document.removeEventListener("visibilitychange", looked);
    letGo();
  };
}
