// The report: the page over a record, and the table that chooses a route.

import { followChoice } from "cogmap/choosing.js";
import { start } from "cogmap/main.js";
import { recordedSource } from "cogmap/recorded.js";

export async function startReport() {
  const record = JSON.parse(document.getElementById("record").textContent);
  const source = recordedSource(record);
  const app = await start(source);
  app.change({ curve: record.curve });
  followChoice(app, source, record.routes.map(({ title }) => title), document.getElementById("canvas"));
}
