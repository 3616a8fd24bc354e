// The horizon: one octave at a time, by hand or playing through all of them.

const EVERY = 750; // ms an octave

export function followHorizon(app, { refresh, training }) {
  let timer = null;

  function set(octave) {
    const count = (app.state.mode === "training" ? app.state.job?.taus : app.state.map?.taus)?.length ?? 1;
    if (!count) return; // a method without horizons
    app.change({ octave: Math.max(0, Math.min(count - 1, octave)) });
    if (app.state.mode === "training") training.field();
    else refresh();
  }

  function play() {
    if (timer) {
      clearInterval(timer);
      timer = null;
      app.change({ playing: false });
      return;
    }
    if (!app.state.map.taus.length) return;
    app.change({ playing: true });
    const forward = () => {
      if (!app.state.playing) return play();
      const count = app.state.map.taus.length;
      set((app.state.octave + 1) % count);
    };
    timer = setInterval(forward, app.state.calm ? 2 * EVERY : EVERY);
  }

  return { set, play, step: (by) => set(app.state.octave + by) };
}
