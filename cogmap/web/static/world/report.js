// The report of a world without a maze: the page over a record, the table of episodes, the loss.

import { followChoice } from "cogmap/choosing.js";
import { paintLoss } from "cogmap/curve.js";
import { start } from "cogmap/world/main.js";
import { recordedSource } from "cogmap/world/record.js";
import { followSheet, title } from "cogmap/world/sheet.js";

const TITLE = 26;

export async function startReport() {
  const record = JSON.parse(document.getElementById("record").textContent);
  const source = recordedSource(record);
  const app = await start(source);
  followChoice(app, source, record.routes.map(({ title: text }) => text), document.getElementById("cloud"));
  const loss = document.getElementById("loss");
  loss.parentElement.hidden = !record.curve.length;
  followSheet(app, loss, () => 200, (context, state, { x, y, w, h }, theme) => {
    title(context, { x, y, w, h }, "The temporal model's loss as it was trained", theme);
    paintLoss(context, record.curve, record.curve.at(-1)?.step ?? 0, { x, y: y + TITLE, w, h: h - TITLE }, theme);
  });
  app.change({});
}
