// Sorts the table of machines by its heads, and shows the rows that contain a text. The page is complete without it.
"use strict";
const table = document.querySelector("table.machines");
const value = (row, column) => {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text.replace(/,/g, ""));
  return row.cells[column].classList.contains("number") ? (Number.isNaN(number) ? null : number) : text.toLowerCase();
};
const sort = (head, column) => {
  const down = head.getAttribute("aria-sort") === (head.dataset.first || "ascending");
  const order = down === (head.dataset.first === "descending") ? "ascending" : "descending";
  for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
  rows.sort(([one], [other]) => {
    if (one === null || other === null) return (one === null) - (other === null);  // without a value: always last
    const less = typeof one === "number" ? one - other : one.localeCompare(other);
    return order === "ascending" ? less : -less;
  });
  table.tBodies[0].append(...rows.map(([, row]) => row));
};
if (table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head, column));
    head.append(button);
  });
  const tools = document.querySelector(".tools");
  tools.hidden = false;
  tools.querySelector("input").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
