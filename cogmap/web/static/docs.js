// The API as a page, drawn from /openapi.json.

function element(tag, text = "", ...children) {
  const node = document.createElement(tag);
  if (text) node.textContent = text;
  node.append(...children);
  return node;
}

const code = (text) => element("code", text);

function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.prefixItems) return `[${schema.prefixItems.map(typeOf).join(", ")}]`;
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return schema.type ?? "anything";
}

function bounds(schema) {
  const words = [];
  if (schema.minimum !== undefined) words.push(`from ${schema.minimum}`);
  if (schema.maximum !== undefined) words.push(`to ${schema.maximum}`);
  if (schema.default !== undefined) words.push(`by default ${JSON.stringify(schema.default)}`);
  return words.join(", ");
}

function table(rows) {
  const body = element("tbody");
  for (const [name, schema, description] of rows) {
    const note = [description, bounds(schema)].filter(Boolean).join("; ");
    body.append(element("tr", "", element("td", "", code(name)),
      element("td", typeOf(schema)), element("td", note)));
  }
  return element("table", "", body);
}

function fields(schema) {
  const rows = Object.entries(schema.properties ?? {});
  return table(rows.map(([name, value]) => [name, value, value.description]));
}

function answer(operation) {
  const content = Object.entries(operation.responses["200"]?.content ?? {});
  if (!content.length) return "";
  const [media, { schema }] = content[0];
  const type = typeOf(schema);
  return media === "application/json" ? type : `${media} ${type}`;
}

function endpoint(path, method, operation) {
  const part = element("section");
  const verb = element("span", method.toUpperCase());
  verb.className = "method";
  part.append(element("h2", "", verb, code(path)), element("p", operation.description ?? ""));
  const parameters = operation.parameters ?? [];
  if (parameters.length) {
    part.append(table(parameters.map(({ name, schema, description }) => [name, schema, description])));
  }
  const body = operation.requestBody?.content["application/json"]?.schema;
  if (body) part.append(element("p", "Takes ", code(typeOf(body)), "."));
  const given = answer(operation);
  const refusal = operation.responses["422"] ? "; a wrong value 422 with a reason." : ".";
  if (given) part.append(element("p", "Answers ", code(given), refusal));
  return part;
}

const description = await (await fetch("/openapi.json")).json();
const main = document.getElementById("api");
main.replaceChildren(
  element("h1", `${description.info.title} ${description.info.version}: the API`),
  element("p", `${description.info.summary} Positions are in the simulator's units, y upward. `
    + "The machine-readable description is at ", code("/openapi.json"), ".")
);
for (const [path, methods] of Object.entries(description.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    main.append(endpoint(path, method, operation));
  }
}
main.append(element("h1", "Messages"));
for (const [name, schema] of Object.entries(description.components.schemas)) {
  main.append(element("section", "", element("h2", "", code(name)),
    element("p", schema.description ?? ""), fields(schema)));
}
main.removeAttribute("aria-busy");
