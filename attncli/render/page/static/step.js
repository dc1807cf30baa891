/* One step: its purpose, its formula, and its numbers as a table. */

import { numberAt } from "./values.js";

/** Draw the step in view, and again whenever it changes. */
export function drawStep(element, state) {
  const draw = () => {
    const { page, nodes, values, step, positions } = state.get();
    const node = nodes.find(({ name }) => name === step);
    const value = values.get(step);
    const leading = node.axes.slice(0, -2).map((letter) => positions[letter] ?? 0);
    const [rows, columns] = node.labels;
    const heading = document.createElement("h2");
    heading.textContent = `${node.name} ${node.symbol}`;
    const purpose = document.createElement("p");
    purpose.textContent = node.purpose;
    const table = document.createElement("table");
    const top = table.createTHead().insertRow();
    for (const label of ["", ...columns]) {
      const cell = document.createElement("th");
      cell.textContent = label;
      top.append(cell);
    }
    const body = table.createTBody();
    rows.forEach((label, row) => {
      const line = body.insertRow();
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = label;
      line.append(head);
      columns.forEach((_, column) => {
        line.insertCell().textContent = numberAt(value, [...leading, row, column]).toFixed(page.decimals);
      });
    });
    element.replaceChildren(heading, purpose, table);
  };
  state.listen(draw);
  draw();
}
