// The HTML elements around the canvas, by id.

export const find = (id) => document.getElementById(id);

/** Listens to a control if this page has it; the report leaves some out. */
export function on(id, event, action) {
  find(id)?.addEventListener(event, (e) => action(e.target, e));
}

/** Fills a list, if this page has it, with pairs of a value and its text. */
export function fill(id, choices) {
  find(id)?.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
}

/** Sets a property, if this page has the element and it differs. */
export function put(id, name, value) {
  const element = find(id);
  if (element && element[name] !== value) element[name] = value;
}
