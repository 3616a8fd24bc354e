// Asks for fields and embeddings when the goal or the horizon changes, and keeps the answers.

import { latest } from "cogmap/latest.js";
import { tauOf } from "cogmap/state.js";

const KEPT = 200; // answers

export function followFields(app, guarded) {
  const kept = new Map();

  async function remembered(name, ask) {
    if (!kept.has(name)) {
      if (kept.size > KEPT) kept.delete(kept.keys().next().value);
      kept.set(name, await ask());
    }
    return kept.get(name);
  }

  const fetchField = (score) =>
    latest(() =>
      guarded(async () => {
        const { map, goal } = app.state;
        const tau = tauOf(app.state);
        const name = `${map.id} ${score} ${goal} ${tau}`;
        const wait = setTimeout(() => app.change({ busy: "Computing the scores ..." }), 400);
        try {
          const field = await remembered(name, () => app.source.field(map.id, goal, tau, score));
          if (app.state.map !== map) return;
          app.change({ fields: { ...app.state.fields, [score]: { ...field, goal } } });
        } finally {
          clearTimeout(wait);
          if (app.state.busy.startsWith("Computing the scores")) app.change({ busy: "" });
        }
      }),
    );

  const learned = fetchField("learned");
  const exact = fetchField("exact");

  const embedding = latest(() =>
    guarded(async () => {
      const { map, method } = app.state;
      const tau = tauOf(app.state);
      const wait = setTimeout(() => {
        const what = method === "tsne" ? "t-SNE, some seconds" : "the embedding";
        app.change({ busy: `Computing ${what} ...` });
      }, 300);
      try {
        const name = `${map.id} ${method} ${tau}`;
        const found = await remembered(name, () => app.source.embedding(map.id, tau, method));
        if (app.state.map === map) app.change({ embedding: found });
      } finally {
        clearTimeout(wait);
        if (/t-SNE|embedding/.test(app.state.busy)) app.change({ busy: "" });
      }
    }),
  );

  /** Brings everything that is shown up to the present goal and horizon. */
  return function refresh() {
    const { map, views } = app.state;
    if (!map || app.state.mode !== "map") return;
    if (map.colours) learned();
    if (map.exact && (views.exact || views.difference)) exact();
    if (views.embedding) embedding();
  };
}
