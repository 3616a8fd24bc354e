// The page of a world without a maze: one state, one source of answers, three canvases.

import { guard } from "cogmap/connection.js";
import { latest } from "cogmap/latest.js";
import { createApp } from "cogmap/state.js";
import { followTaste } from "cogmap/taste.js";
import { paintCandidates } from "cogmap/world/candidates.js";
import { paintCloud } from "cogmap/world/cloud.js";
import { bindControls, describe } from "cogmap/world/controls.js";
import { followJourney } from "cogmap/world/journey.js";
import { followPointer } from "cogmap/world/pointer.js";
import { paintRibbon } from "cogmap/world/ribbon.js";
import { followSheet } from "cogmap/world/sheet.js";
import { initialState, tauOf } from "cogmap/world/state.js";

/** Starts the page over a source of answers (world/server.js or world/record.js). */
export async function start(source) {
  const app = createApp(source, initialState());
  globalThis.cogmap = app; // for the console
  const guarded = guard(app, () => (app.state.world ? refresh() : open()));
  const journey = followJourney(app, guarded);

  const points = latest(() =>
    guarded(async () => {
      const { method, points: known } = app.state;
      const tau = tauOf(app.state);
      if (known?.tau === tau && known.method === method) return;
      app.change({ points: await source.points(tau, method) });
    }),
  );
  const field = latest(() =>
    guarded(async () => {
      const { goal, start: begin, seed, gaze } = app.state;
      if (!goal.trim() && !app.state.world.plans) return;
      const asked = { tau: tauOf(app.state), goal: goal.trim() || null, start: begin, seed, heading: gaze === "" ? null : Number(gaze) };
      app.change({ field: await source.field(asked) });
    }),
  );

  function refresh() {
    return Promise.all([points(), field(), journey.replace()]);
  }

  /** Another horizon or projection. */
  function plane(patch) {
    app.change(patch);
    refresh();
  }

  /** Another goal or start: G changes, and so does the way. */
  function aim(patch) {
    app.change({ ...patch, field: null, status: "" });
    field();
    if (app.state.world.plans) journey.plan();
  }

  async function open() {
    const world = await guarded(() => source.world());
    if (!world) return;
    const middle = world.own_goals ? "" : `#${Math.floor(world.rows.length / 2)}`;
    const octave = Math.max(0, Math.ceil(0.5 * (world.taus.length - 1)));
    const [method] = world.methods;
    app.change({ world, octave, method, goal: world.goal || middle, start: world.start });
    describe(app.state);
    refresh();
    if (world.plans) await journey.plan();
  }

  const sheet = (name, height, paint) => {
    const canvas = document.getElementById(name);
    return { canvas, ...followSheet(app, canvas, height, paint) };
  };
  const cloud = sheet("cloud", (w) => Math.max(320, Math.min(app.state.world?.floor ? 620 : 520, 0.8 * w)), paintCloud);
  const ribbon = sheet("ribbon", () => 230, paintRibbon);
  sheet("candidates", () => 230, paintCandidates);
  bindControls(app, { journey, plane, aim });
  followPointer(app, { cloud, ribbon }, { journey, plane, aim });
  followTaste(app);
  app.choose = (task) => aim({ goal: task.goal, start: task.start, seed: task.seed, task: task.number });
  await open();
  return app;
}
