// Requests that follow the pointer: at most one in flight, and the newest wins.

export function latest(work) {
  let waiting = null;
  let running = false;
  return async function ask(...values) {
    waiting = values;
    if (running) return;
    running = true;
    try {
      while (waiting) {
        const now = waiting;
        waiting = null;
        await work(...now);
      }
    } finally {
      running = false;
    }
  };
}
