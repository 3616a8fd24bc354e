// The page: one state, one source of answers, one canvas.

import { bindControls } from "cogmap/controls.js";
import { guard } from "cogmap/connection.js";
import { followFields } from "cogmap/fields.js";
import { prepared } from "cogmap/geometry.js";
import { followHorizon } from "cogmap/horizon.js";
import { followKeys } from "cogmap/keys.js";
import { layout } from "cogmap/layout.js";
import { followPictures } from "cogmap/pictures.js";
import { followPlanning } from "cogmap/planning.js";
import { followPointer } from "cogmap/pointer.js";
import { paint } from "cogmap/scene.js";
import { createApp, planned } from "cogmap/state.js";
import { followTaste } from "cogmap/taste.js";
import { followTraining } from "cogmap/training.js";

/** Starts the page over a source of answers (server.js or recorded.js). */
export async function start(source) {
  const app = createApp(source);
  globalThis.cogmap = app; // for the console
  const canvas = document.getElementById("canvas");
  const guarded = guard(app, recovered);

  const refresh = followFields(app, guarded);
  const planning = followPlanning(app, guarded);
  const training = followTraining(app, guarded, showMap);
  followPictures(app);
  const horizon = followHorizon(app, { refresh, training });

  async function open() {
    const maps = await guarded(() => source.maps());
    if (!maps?.length) return;
    app.change({ maps });
    await showMap(maps[0].id);
    await training.resume();
  }

  /** The server is back: ask for everything again, but leave a drawing or a training alone. */
  function recovered() {
    if (!app.state.map) open();
    else if (app.state.mode === "map") showMap(app.state.map.id, true);
  }

  /** Shows a map; `again` keeps start, goal and horizon after the server was away. */
  async function showMap(id, again = false) {
    const maps = await guarded(() => source.maps());
    if (!maps?.length) return;
    const known = maps.some((map) => map.id === id) ? id : maps[0].id;
    const found = await guarded(() => source.map(known));
    if (!found) return;
    const kept = again && known === id;
    app.change({
      maps,
      map: prepared(found),
      mode: "map",
      fields: { learned: null, exact: null },
      embedding: null,
      routes: { A: null, B: null },
      inspected: null,
      hover: null,
      ...(planned(found) ? {} : { compare: false, views: { ...app.state.views, embedding: false } }),
      ...(kept ? {} : { start: found.start, goal: found.goal, octave: Math.floor(0.75 * found.taus.length) }),
    });
    refresh();
    await planning.plan();
  }

  app.endMoved = () => {
    refresh();
    if (app.state.prompt) planning.plan();
    else app.change({ routes: { A: null, B: null } });
  };
  app.choose = (task) => {
    app.change({ start: task.start, goal: task.goal, task: task.number });
    refresh();
    planning.plan();
  };

  const parts = { refresh, planning, training, horizon, showMap };
  bindControls(app, parts);
  followPointer(app, canvas, parts);
  followKeys(app, canvas, parts);
  followCanvas(app, canvas);
  followTaste(app);
  await open();
  return app;
}

/** Draws when something has changed, at most once a frame, sharp on any screen. */
function followCanvas(app, canvas) {
  const context = canvas.getContext("2d");
  let due = false;

  function draw() {
    due = false;
    const width = canvas.parentElement.clientWidth;
    const { height } = layout(app.state, width);
    const density = globalThis.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * density), Math.round(height * density)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    context.setTransform(density, 0, 0, density, 0, 0);
    paint(context, app.state, width);
  }

  function soon() {
    if (!due) requestAnimationFrame(draw);
    due = true;
  }

  app.onChange(soon);
  new ResizeObserver(soon).observe(canvas.parentElement);
}
