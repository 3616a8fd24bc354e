// All that the page of a world without a maze knows; changed through app.change, which redraws.

import { number } from "cogmap/state.js";

export function initialState() {
  return {
    dark: false,
    calm: false, // the reader asked for little motion
    world: null, // messages.World of the server
    octave: 0, // index into world.taus
    method: "pca",
    gaze: "", // heading that G is shown from in a building; empty: the best of all
    sets: "goal", // what a click in a building sets
    colour: "G", // or the index of an observation's number
    points: null, // {tau, method, points}: the sample in a plane
    field: null, // {tau, values, goal, marks, warning}
    goal: "", // as typed; #K: row K of the sample; in a building x,z or x,z,heading, as start
    start: "",
    seed: 0,
    route: null, // {begun, steps, outcome, failure, places: {tau, method, points}}
    step: 0, // which sight of the route is looked at
    hover: null, // row of the sample under the pointer
    task: 0, // which route of a report
    planning: false,
    status: "", // what happened last
    busy: "", // what the page is waiting for
    note: "",
    trouble: "", // the server has stopped
  };
}

export function tauOf({ world, octave }) {
  return world ? world.taus[Math.min(octave, world.taus.length - 1)] : 1;
}

/** What was seen along the route: at every decision, and at its end. */
export function sights(route) {
  if (!route) return [];
  return route.outcome ? [...route.steps, route.outcome] : route.steps;
}

/** Where the route's sights lie in the plane that is shown; null until that is known. */
export function routePoints({ route, points }) {
  const seen = sights(route);
  if (!points || !seen.length) return null;
  const { places } = route;
  if (places?.tau === points.tau && places.method === points.method && places.points.length >= seen.length) {
    return places.points.slice(0, seen.length);
  }
  const own = route.tau === points.tau && route.method === points.method;
  return own ? seen.map(({ place }) => place) : null;
}

export function signed(value, digits = 2) {
  return number(value, digits).replaceAll("-", "−");
}

/** An observation in words; empty for a picture. */
export function words(names, observation) {
  return names.map((name, k) => `${name} ${signed(observation[k], 3)}`).join(", ");
}
