// A source of answers without a server: the points, fields and episodes that are stored in a report.

import { integers } from "cogmap/packed.js";

/** The functions of world/server.js over the JSON that cogmap/web/terrain_report.py writes. */
export function recordedSource(record) {
  const { world, routes } = record;
  const points = scaled(record.points, record.steps_per_side);
  const fields = record.fields.map((scores) => scaled(scores, record.steps_per_nat));
  const count = world.rows.length;
  const begin = (tau) => world.taus.indexOf(tau) * count;
  let shown = 0;

  const task = (k) => {
    shown = (k + routes.length) % routes.length;
    return { number: shown, goal: routes[shown].goal, start: routes[shown].start ?? "", seed: routes[shown].seed };
  };
  const pointsOf = (tau) => {
    const some = points.subarray(2 * begin(tau), 2 * (begin(tau) + count));
    return Array.from({ length: count }, (_, k) => [some[2 * k], some[2 * k + 1]]);
  };
  const placesOf = (tau) => routes[shown].places[world.taus.indexOf(tau)];

  return {
    live: false,
    world: async () => world,
    points: async (tau, method) => ({ tau, method, points: pointsOf(tau) }),
    places: async ({ tau, method }) => ({ tau, method, points: placesOf(tau) }),
    picture: () => null, // those of the sample are not stored
    field: async ({ tau }) => {
      const { goal, marks, warning, field } = routes[shown];
      return { tau, values: Array.from(fields[field].subarray(begin(tau), begin(tau) + count)), goal, marks, warning };
    },
    plan: async ({ tau }, onLine) => {
      const { goal, marks, warning, steps, outcome, goal_frame: shot } = routes[shown];
      const places = placesOf(tau);
      let frame = null; // some may have been left out: then the one before is shown
      const seen = (sight, k) => ({ ...sight, place: places[k], frame: (frame = sight.frame ?? frame) });
      onLine({ kind: "begun", goal, marks, warning, frame: shot });
      steps.forEach((step, k) => onLine(seen(step, k)));
      onLine(seen(outcome, steps.length));
    },
    task,
    next: (by) => task(shown + by),
    /** The route with a goal nearest to a point of the sample. */
    pick: (row, { points: places }) => {
      const [u, v] = places[row];
      const away = routes.map(({ marks }) => Math.min(...marks.map((k) => Math.hypot(places[k][0] - u, places[k][1] - v))));
      return task(away.indexOf(Math.min(...away)));
    },
  };
}

/** Packed integers as the numbers they stand for. */
function scaled(text, steps) {
  return Float32Array.from(integers(text), (value) => value / steps);
}
