// A drawn maze from the first step of exploration to a map one can plan in.

import { parts } from "cogmap/editor.js";
import { mapOfJob, nearest } from "cogmap/geometry.js";
import { latest } from "cogmap/latest.js";

const EVERY = 1000; // ms between two questions
const KEY = "cogmap training"; // in the tab's own storage

export function followTraining(app, guarded, showMap) {
  let timer = null;
  let version = 0;

  /** Sends the drawn maze and then asks once a second how far its training is. */
  async function begin() {
    const { rows } = app.state.editor;
    const count = parts(rows);
    if (count > 1) return app.say(`The maze falls into ${count} parts; open a way between them.`);
    const job = await guarded(() => app.source.draw(rows));
    if (!job) return;
    sessionStorage.setItem(KEY, job.id);
    watch(job);
  }

  function watch(job) {
    version = 0;
    const jobMap = mapOfJob(job);
    app.change({ mode: "training", job, jobMap, jobField: null, jobGoal: farthest(jobMap) });
    look();
  }

  /** Goes on watching after the page was loaded anew. */
  async function resume() {
    const id = app.source.live && sessionStorage.getItem(KEY);
    if (!id || !app.state.map) return;
    const job = await app.source.job(id).catch(() => null);
    if (job && ["exploring", "map", "dynamics"].includes(job.phase)) watch(job);
    else sessionStorage.removeItem(KEY);
  }

  async function look() {
    clearTimeout(timer);
    const before = app.state.job;
    if (!before) return;
    const job = await guarded(() => app.source.job(before.id));
    if (app.state.job?.id !== before.id) return;
    if (job) await take(job);
    else if (!app.state.trouble) end({}); // the server has forgotten it, as was told
    if (app.state.job) timer = setTimeout(look, EVERY);
  }

  async function take(job) {
    app.change({ job });
    if (job.version > version) {
      version = job.version;
      field();
    }
    if (job.phase === "done" && job.map) {
      await finish(job);
    } else if (job.phase === "failed" || job.phase === "stopped") {
      end({ status: job.phase === "failed" ? `Training failed: ${job.detail}` : "Training stopped." });
    } else if (watched()) {
      app.change({ note: "", status: `${job.detail.charAt(0).toUpperCase()}${job.detail.slice(1)} ...` });
    }
  }

  const watched = () => app.state.mode === "training";

  /** Shows the new map, or only lists it if the reader is looking at another one. */
  async function finish(job) {
    if (watched()) {
      app.change({ note: "Trained; this is your maze." });
      await showMap(job.map);
    } else {
      const maps = await guarded(() => app.source.maps());
      app.change({ maps: maps ?? app.state.maps, note: "Your maze is trained; it is among the maps." });
    }
    app.change({ job: null });
  }

  function end(words) {
    app.change({ mode: watched() ? "draw" : app.state.mode, job: null, ...words });
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

/** The lattice point nearest to the upper right corner: a goal far from most of the maze. */
function farthest(map) {
  return map.points[nearest(map.points, map.high)];
}
