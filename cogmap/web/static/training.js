// A drawn maze from the first step of exploration to a map one can plan in.

import { drawnMap, nearest, prepared } from "cogmap/geometry.js";
import { latest } from "cogmap/latest.js";

const EVERY = 1000; // ms between two looks
const KEY = "cogmap training"; // in the tab's own storage

export function followTraining(app, guarded, showMap) {
  let timer = null;
  let version = 0;

  /** Sends the drawn maze; then looks once a second. */
  async function begin() {
    const { rows } = app.state.editor;
    const job = await guarded(() => app.source.draw(rows));
    if (!job) return;
    sessionStorage.setItem(KEY, JSON.stringify({ id: job.id, rows }));
    watch(job, rows);
  }

  function watch(job, rows) {
    version = 0;
    const jobMap = drawnMap(rows, app.state.map.cell);
    app.change({ mode: "training", job, jobMap, jobField: null, jobGoal: [0, 0] });
    look();
  }

  /** Goes on watching after the page was loaded anew. */
  async function resume() {
    const kept = app.source.live && JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    if (!kept || !app.state.map) return;
    const job = await app.source.job(kept.id).catch(() => null);
    if (job && ["exploring", "map", "dynamics"].includes(job.phase)) watch(job, kept.rows);
    else sessionStorage.removeItem(KEY);
  }

  async function look() {
    clearTimeout(timer);
    const before = app.state.job;
    if (!before) return;
    const job = await guarded(() => app.source.job(before.id));
    if (app.state.job?.id !== before.id) return;
    if (job) await take(job);
    if (app.state.mode === "training") timer = setTimeout(look, EVERY);
  }

  async function take(job) {
    app.change({ job });
    if (job.points.length && !app.state.jobMap.points.length) {
      const jobMap = prepared({ ...app.state.jobMap, points: job.points });
      app.change({ jobMap, jobGoal: farthest(jobMap) });
    }
    if (job.version > version) {
      version = job.version;
      field();
    }
    if (job.phase === "done" && job.map) {
      app.change({ note: "Trained; this is your maze." });
      await showMap(job.map);
      app.change({ job: null });
    } else if (job.phase === "failed" || job.phase === "stopped") {
      const status = job.phase === "failed" ? `Training failed: ${job.detail}` : "Training stopped.";
      app.change({ mode: "draw", job: null, status });
    } else {
      app.change({ note: "", status: `${job.detail.charAt(0).toUpperCase()}${job.detail.slice(1)} ...` });
    }
  }

  /** The score of the model as it stands, towards the place that was clicked. */
  const field = latest(() =>
    guarded(async () => {
      const { job, jobGoal, octave } = app.state;
      if (!job || job.version < 1) return;
      const tau = job.taus[Math.min(octave, job.taus.length - 1)];
      const found = await app.source.jobField(job.id, jobGoal, tau);
      if (app.state.job?.id === job.id) app.change({ jobField: found });
    }),
  );

  async function stop() {
    const { job } = app.state;
    if (!job) return;
    const stopped = await guarded(() => app.source.stopJob(job.id));
    if (stopped) await take({ ...stopped, phase: stopped.phase === "done" ? "done" : "stopped" });
  }

  return { begin, resume, stop, field };
}

/** A corner of the maze: from there the field has the longest way to form. */
function farthest(map) {
  return map.points[nearest(map.points, map.high)];
}
