// The report: the page over a record, and the table that chooses a route.

import { start } from "cogmap/main.js";
import { recordedSource } from "cogmap/recorded.js";

export async function startReport() {
  const record = JSON.parse(document.getElementById("record").textContent);
  const source = recordedSource(record);
  const app = await start(source);
  app.change({ curve: record.curve });
  const list = document.getElementById("route");
  const rows = [...document.querySelectorAll("tr[data-route]")];
  list.append(...record.routes.map(({ title }, k) => new Option(title, k)));

  const choose = (k) => app.choose(source.task(k));
  list.addEventListener("change", () => choose(Number(list.value)));
  document.getElementById("next").addEventListener("click", () => app.choose(source.next(1)));
  for (const row of rows) {
    const number = Number(row.dataset.route);
    row.querySelector("button").addEventListener("click", () => {
      choose(number);
      document.getElementById("canvas").scrollIntoView({ block: "center" });
    });
  }
  app.onChange(({ task }) => {
    list.value = String(task ?? 0);
    for (const row of rows) row.classList.toggle("shown", Number(row.dataset.route) === (task ?? 0));
  });
  app.change({});
}
