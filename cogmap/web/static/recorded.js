// A source of answers without a server: the routes and fields that are stored in a report.

import { integers } from "cogmap/packed.js";

/** The functions of server.js over the JSON that cogmap/web/report.py writes. */
export function recordedSource(record) {
  const { map, routes } = record;
  const fields = record.fields.map(({ goal, scores }) => ({ goal, scores: integers(scores) }));
  let shown = 0;

  const task = (k) => {
    shown = (k + routes.length) % routes.length;
    const { name, start, goal } = routes[shown];
    return { number: shown, name, start, goal };
  };
  const fieldOf = (goal) => fields.find((field) => same(field.goal, goal));

  return {
    live: false,
    planner: record.planner,
    curve: record.curve,
    maps: async () => [{ id: map.id, name: map.name }],
    map: async () => map,
    field: async (id, goal, tau) => {
      const { scores } = fieldOf(goal);
      const begin = Math.max(0, map.taus.indexOf(tau)) * map.points.length; // without taus: one layer
      const whole = scores.slice(begin, begin + map.points.length);
      const values = Array.from(whole, (value) => value / record.steps_per_nat);
      return { tau, score: "learned", values };
    },
    plan: async (id, request, onLine) => {
      const route = routes[shown];
      route.left.forEach((left, k) => {
        const step = { kind: "step", at: route.places[k], to: route.places[k + 1], left };
        const { [k]: candidate = null } = route.candidate; // a policy weighs none
        const { [k]: horizon = null } = route.horizon;
        onLine({ ...step, candidate, horizon, value: route.value[k] });
      });
      onLine({ kind: "outcome", ...route.outcome });
    },
    inspect: async (id, request, planned, step) => {
      const route = routes[shown];
      const candidates = record.actions.map((action, k) => {
        const chosen = k === route.candidate[step];
        const progress = chosen ? route.progress[step] : null; // of the others only V was kept
        const outcome = chosen ? route.predicted[step] : null;
        return { action, value: route.values[step][k], radius: null, outcome, progress };
      });
      return { taus: route.taus[step], best: route.candidate[step], candidates };
    },
    task,
    next: (by) => task(shown + by),
    /** The route whose start or goal lies closest to a click. */
    pick: (place) => {
      const away = routes.map(({ start, goal }) => Math.min(apart(start, place), apart(goal, place)));
      return task(away.indexOf(Math.min(...away)));
    },
  };
}

function apart([x, y], [u, v]) {
  return Math.hypot(x - u, y - v);
}

function same(one, other) {
  return one[0] === other[0] && one[1] === other[1];
}
