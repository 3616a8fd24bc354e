// Start and goal: where they may lie, and what the reader is told when they cannot lie there.

import { neighbour, settled } from "cogmap/geometry.js";

/** Puts an end where the agent can stand, as near as possible; says so if it is somewhere else. */
export function moveEnd(app, which, place) {
  const { map } = app.state;
  const found = settled(map, place);
  const [x, y] = found.place;
  const status = found.moved ? "" : `The ${which} is at (${x}, ${y}).`;
  const why = found.wall ? "That is a wall" : "That touches a wall";
  const note = found.moved ? `${why}; the ${which} went to (${x}, ${y}), the nearest free point.` : "";
  app.change({ [which]: found.place, note, status });
}

/** Moves an end by one lattice point; where a wall is in the way it says so and gives false. */
export function nudgeEnd(app, which, direction) {
  const place = neighbour(app.state.map, app.state[which], direction);
  if (!place) {
    app.change({ note: "", status: `A wall; the ${which} stays at (${app.state[which].join(", ")}).` });
    return false;
  }
  app.change({ [which]: place, note: "", status: `The ${which} is at (${place.join(", ")}).` });
  return true;
}
