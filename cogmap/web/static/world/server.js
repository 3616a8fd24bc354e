// What the page of a world without a maze asks the server; world/record.js offers the same functions.

import { json, posted, query, stream } from "cogmap/server.js";

export function serverSource() {
  const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
  return {
    live: true,
    world: () => json("/api/world"),
    points: (tau, method) => json(`/api/world/points?${query({ tau, method })}`),
    places: (asked) => json("/api/world/places", posted(asked)),
    picture: (row) => `/api/world/picture?${query({ row })}`,
    field: (asked) => json(`/api/world/field?${query(given(asked))}`),
    plan: (asked, onLine, signal) => stream("/api/world/plan", asked, onLine, signal),
    health: () => json("/api/health"),
  };
}
