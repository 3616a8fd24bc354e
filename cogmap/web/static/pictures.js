// The pictures at the agent and at the goal, where a model learned from pictures.

export function followPictures(app) {
  const box = document.getElementById("pictures");
  if (!box) return; // a report has none
  const [here, goal] = box.querySelectorAll("img");
  app.onChange((state) => {
    const { map, inspected } = state;
    box.hidden = !map?.pictures || state.mode !== "map";
    if (box.hidden || state.dragging) return;
    const step = inspected && state.routes[inspected.route]?.steps[inspected.step];
    show(here, app.source.picture(map.id, step ? step.at : state.start));
    show(goal, app.source.picture(map.id, state.goal));
  });
}

function show(image, address) {
  if (image.getAttribute("src") !== address) image.src = address;
}
