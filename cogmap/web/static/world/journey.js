// A plan as it is executed, and the reader's way along it.

import { latest } from "cogmap/latest.js";
import { number } from "cogmap/state.js";
import { sights, tauOf } from "cogmap/world/state.js";

const EVERY = 90; // ms a frame

export function followJourney(app, guarded) {
  let stop = null;
  let film = null;

  async function plan() {
    stop?.abort();
    stop = new AbortController();
    const { signal } = stop;
    pause();
    const { goal, start, seed, method } = app.state;
    const tau = tauOf(app.state);
    const route = { tau, method, begun: null, steps: [], outcome: null, failure: "", places: null };
    app.change({ route, step: 0, planning: true, busy: "Planning ..." });
    const onLine = (line) => {
      if (signal.aborted) return;
      if (line.kind === "begun") route.begun = line;
      if (line.kind === "step") route.steps.push(line);
      if (line.kind === "outcome") route.outcome = line;
      if (line.kind === "failure") route.failure = line.detail;
      if (line.kind !== "step" || !app.state.calm) {
        app.change({ route, step: Math.max(0, sights(route).length - 1) });
      }
    };
    const asked = { goal: goal.trim() || null, start, seed, tau, method };
    const whole = await guarded(async () => {
      await app.source.plan(asked, onLine, signal);
      return true;
    });
    if (signal.aborted) return;
    app.change({ planning: false, busy: "" });
    if (!whole) return app.change({ route: null });
    app.change({ status: outcomeText(route, app.state.world), step: firstAtGoal(route) });
    replace();
  }

  function halt() {
    stop?.abort();
    app.change({ planning: false, busy: "", status: "Stopped." });
  }

  /** The plane has changed: the route has other places in it. */
  const replace = latest(() =>
    guarded(async () => {
      const { route, method, planning } = app.state;
      const tau = tauOf(app.state);
      const seen = sights(route);
      if (!seen.length || planning || (route.tau === tau && route.method === method)) return;
      const places = await app.source.places({ tau, method, observations: seen.map((s) => s.observation) });
      route.places = places;
      if (app.state.route === route) app.change({ route });
    }),
  );

  function show(step) {
    const count = sights(app.state.route).length;
    if (count) app.change({ step: Math.max(0, Math.min(count - 1, step)) });
  }

  function pause() {
    clearInterval(film);
    film = null;
    app.change({ playing: false });
  }

  function play() {
    if (film) return pause();
    const last = sights(app.state.route).length - 1;
    if (last < 1) return;
    if (app.state.step >= last) show(0);
    app.change({ playing: true });
    film = setInterval(() => {
      show(app.state.step + 1);
      if (app.state.step >= last) pause();
    }, app.state.calm ? 4 * EVERY : EVERY);
  }

  return { plan, halt, replace, show, play, pause, walk: (by) => show(app.state.step + by) };
}

/** A move worth looking at first: some way before the goal is reached. */
function firstAtGoal(route) {
  const seen = sights(route);
  const there = seen.findIndex(({ at_goal: at }) => at);
  return Math.max(0, Math.floor((there < 0 ? seen.length : there) / 2));
}

function outcomeText({ failure, outcome, steps: moves }, { budget, floor }) {
  if (failure) return failure;
  if (!outcome) return "No outcome.";
  const { success, steps, stayed, seconds, raised } = outcome;
  const count = `${steps} ${floor ? "move" : "environment step"}${steps === 1 ? "" : "s"}`;
  const time = seconds === null ? "" : ` (${number(seconds, 2)} s)`;
  if (raised) return `The environment broke off after ${count}: ${raised}.`;
  if (!success && steps < budget) return `The episode was over after ${count}, without reaching the goal${time}.`;
  if (!success) return `Did not reach the goal in ${count}${time}.`;
  if (stayed === null) return steps ? `Reached the goal in ${count}${time}.` : "It began at the goal.";
  const first = sights({ steps: moves, outcome }).findIndex(({ at_goal: there }) => there);
  const when = first < 0 ? "" : first === 0 ? " at once" : ` with move ${first} of ${moves.length}`;
  return `Reached the goal${when}, and was there for ${Math.round(100 * stayed)} % of the time since; ${count}${time}.`;
}
