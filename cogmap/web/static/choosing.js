// The routes of a report: a list, a button for the next one, and a button in the table of each.

/** `titles` are those of the routes; choosing one brings the canvas into view. */
export function followChoice(app, source, titles, canvas) {
  const list = document.getElementById("route");
  const rows = [...document.querySelectorAll("tr[data-route]")];
  list.append(...titles.map((title, k) => new Option(title, k)));

  const choose = (k) => app.choose(source.task(k));
  list.addEventListener("change", () => choose(Number(list.value)));
  document.getElementById("next").addEventListener("click", () => app.choose(source.next(1)));
  for (const row of rows) {
    const number = Number(row.dataset.route);
    row.querySelector("button").addEventListener("click", () => {
      choose(number);
      canvas.scrollIntoView({ block: "center" });
    });
  }
  app.onChange(({ task }) => {
    list.value = String(task ?? 0);
    for (const row of rows) row.classList.toggle("shown", Number(row.dataset.route) === (task ?? 0));
  });
  app.change({});
}
