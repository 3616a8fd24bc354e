// Routes as they are executed, and the candidates behind each move.

import { latest } from "cogmap/latest.js";
import { LETTERS } from "cogmap/route.js";
import { inspectionText } from "cogmap/rose.js";
import { number, planned, plannerName, plannerTitle } from "cogmap/state.js";
import { moveText } from "cogmap/titles.js";

export function followPlanning(app, guarded) {
  let stop = null;

  async function one(letter, signal) {
    const { map, start, goal } = app.state;
    const asked = planned(map) ? { planner: app.source.planner ?? plannerName(app.state.planners[letter]) } : {};
    const planner = asked.planner ?? map.method;
    const route = { letter, planner, start, goal, steps: [], outcome: null, failure: "" };
    const put = () => app.change({ routes: { ...app.state.routes, [letter]: route } });
    put();
    const onLine = (line) => {
      if (signal.aborted) return;
      if (line.kind === "step") route.steps.push(line);
      if (line.kind === "outcome") route.outcome = line;
      if (line.kind === "failure") route.failure = line.detail;
      if (line.kind !== "step" || !app.state.calm) put(); // little motion: the whole route at once
    };
    await app.source.plan(map.id, { start, goal, ...asked }, onLine, signal);
  }

  /** Plans with A, and with B beside it where two are compared. */
  async function plan() {
    stop?.abort();
    stop = new AbortController();
    const { signal } = stop;
    const letters = app.state.compare ? LETTERS : ["A"];
    app.change({ inspected: null, routes: { A: null, B: null }, planning: true, busy: "Planning ..." });
    const whole = await guarded(async () => {
      await Promise.all(letters.map((letter) => one(letter, signal)));
      return true;
    });
    if (signal.aborted) return;
    app.change({ planning: false, busy: "" });
    if (!whole) return;
    app.say(letters.map((letter) => outcomeText(app.state.routes[letter], app.state.compare)).join(" "));
    const count = app.state.routes.A.steps.length;
    if (count && !app.state.inspected) inspect("A", Math.floor(count / 3)); // one to begin with
  }

  function halt() {
    stop?.abort();
    app.change({ planning: false, busy: "", status: "Stopped." });
  }

  const candidates = latest((letter, step) =>
    guarded(async () => {
      const { map, routes } = app.state;
      const route = routes[letter];
      if (!route?.steps[step]) return;
      const past = route.steps.slice(Math.max(0, step + 1 - map.longest_past), step + 1);
      const request = {
        places: past.map(({ at }) => at),
        chosen: past.slice(0, -1).map(({ candidate }) => candidate),
        goal: route.goal,
        planner: route.planner,
      };
      const found = await app.source.inspect(map.id, request, route, step);
      const now = app.state.inspected;
      if (now?.route !== letter || now.step !== step) return; // the reader went on
      const candidate = now.candidate ?? route.steps[step].candidate;
      app.change({ inspected: { ...now, candidate, candidates: found } });
      app.change({ reading: inspectionText(app.state).join("; ") });
    }),
  );

  /** Opens one decision and asks for its candidates. A pinned one stays when the pointer moves on. */
  function inspect(letter, step, pinned = false) {
    const now = app.state.inspected;
    if (now?.route === letter && now.step === step) {
      if (pinned) app.change({ inspected: { ...now, pinned: !now.pinned } });
      return;
    }
    app.change({ inspected: { route: letter, step, pinned, candidate: null, candidates: null } });
    if (planned(app.state.map)) candidates(letter, step);
    else app.change({ reading: moveText(app.state.routes[letter].steps[step], step) });
  }

  function walk(by) {
    const now = app.state.inspected;
    const letter = now?.route ?? "A";
    const count = app.state.routes[letter]?.steps.length ?? 0;
    if (!count) return app.say("There is no route to walk along; plan one first.");
    const step = now ? now.step + by : by > 0 ? 0 : count - 1;
    inspect(letter, Math.max(0, Math.min(count - 1, step)), true);
  }

  /** Shows another candidate. With `passing` it is shown only as long as the pointer is on it. */
  function consider(candidate, passing = false) {
    const now = app.state.inspected;
    if (!now?.candidates || now.candidate === candidate) return;
    app.change({ inspected: { ...now, candidate, passing } });
    app.change({ reading: inspectionText(app.state).join("; ") });
  }

  function leave() {
    const now = app.state.inspected;
    if (now?.passing) consider(now.candidates.best);
  }

  return { plan, halt, inspect, walk, consider, leave, forget: () => app.change({ inspected: null }) };
}

function outcomeText(route, compared) {
  const name = compared ? `${route.letter}: ` : `${plannerTitle(route.planner)}: `;
  if (route.failure) return name + route.failure;
  if (!route.outcome) return `${name}no outcome.`;
  const { success, length, shortest, steps, seconds } = route.outcome;
  if (!success) return `${name}did not reach the goal; it stood still or ran out of steps after ${steps}.`;
  const speed = compared || seconds === null ? "" : `, ${steps} steps in ${number(seconds, 2)} s`;
  return `${name}reached the goal, ${length.toFixed(1)} units (shortest ${shortest.toFixed(1)})${speed}.`;
}
