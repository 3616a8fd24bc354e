// What the page does when the server refuses a request or does not answer.

import { Refused, Unreachable } from "cogmap/server.js";

const EVERY = 2000; // ms between two attempts to reach the server again

/** Wraps work so that the reader is told when it fails; a failed one gives undefined. */
export function guard(app, recovered) {
  let knocking = false;

  function knock() {
    if (knocking) return;
    knocking = true;
    setTimeout(async () => {
      knocking = false;
      try {
        await app.source.health();
      } catch {
        return knock();
      }
      app.change({ trouble: "", status: "The server is back." });
      recovered();
    }, EVERY);
  }

  return async function guarded(work) {
    try {
      return await work();
    } catch (error) {
      if (error.name === "AbortError") return undefined;
      if (error instanceof Refused) {
        app.change({ busy: "", note: "", status: sentence(error.message) });
      } else if (error instanceof Unreachable) {
        const trouble = "The server has stopped; start it again with cogmap serve.";
        app.change({ trouble, planning: false, playing: false, busy: "" });
        knock();
      } else {
        throw error;
      }
      return undefined;
    }
  };
}

export function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
