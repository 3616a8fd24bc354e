// Pointer and keyboard on the canvases of a world without a maze.

import { rowNear, sightNear } from "cogmap/world/cloud.js";
import { end, typed } from "cogmap/world/floor.js";
import { sightInRibbon } from "cogmap/world/ribbon.js";

export function followPointer(app, { cloud, ribbon }, { journey, plane, aim }) {
  cloud.canvas.addEventListener("pointermove", (event) => {
    const at = cloud.at(event);
    const step = sightNear(app.state, cloud.rect(), at);
    if (step !== null && !app.state.playing) journey.show(step);
    const hover = step === null ? rowNear(app.state, cloud.rect(), at) : null;
    if (hover !== app.state.hover) app.change({ hover });
  });
  cloud.canvas.addEventListener("pointerleave", () => app.change({ hover: null }));
  cloud.canvas.addEventListener("click", (event) => {
    const row = rowNear(app.state, cloud.rect(), cloud.at(event));
    if (row === null) return;
    if (app.source.live) aim(app.state.world.floor ? placed(app.state, row, event.shiftKey) : { goal: `#${row}` });
    else if (!app.state.world.plans) app.choose(app.source.pick(row, app.state.points));
  });
  for (const kind of ["pointermove", "pointerdown"]) {
    ribbon.canvas.addEventListener(kind, (event) => {
      const step = sightInRibbon(app.state, ribbon.rect(), ribbon.at(event));
      if (step !== null && !app.state.playing) journey.show(step);
    });
  }
  const keys = {
    ArrowLeft: () => journey.walk(-1),
    ArrowRight: () => journey.walk(1),
    "[": () => plane({ octave: Math.max(0, app.state.octave - 1) }),
    "]": () => plane({ octave: Math.min(app.state.world.taus.length - 1, app.state.octave + 1) }),
    Enter: () => journey.plan(),
    " ": () => journey.play(),
  };
  for (const { canvas } of [cloud, ribbon]) {
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || !app.state.world) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
}

/** A start or goal at a row of a building, which looks as it did before. */
function placed(state, row, other) {
  const name = other ? "start" : state.sets;
  return { [name]: typed(state.world.rows[row], end(state[name])?.heading ?? null) };
}
