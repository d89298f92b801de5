// Sorts tables by their heads, filters and folds cases, and marks in the list the case that is read.
// The page is complete without it.
"use strict";
const value = (row, column) => {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text.replace(/,/g, "").replace("\u2212", "-").replace("< ", ""));
  return Number.isNaN(number) ? text.toLowerCase() : number;
};
const order = (one, other) => {
  if (typeof one === typeof other) return typeof one === "number" ? one - other : one.localeCompare(other);
  return typeof one === "number" ? -1 : 1;
};
const sort = (table, head, column) => {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("section"));
    rows.sort((one, other) => (down ? -1 : 1) * order(value(one, column), value(other, column)));
    body.append(...rows);
  }
};
for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    head.dataset.name = head.textContent.trim();  // what print shows in place of the button
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, head, column));
    head.append(button);
  });
}
for (const tools of document.querySelectorAll(".tools")) tools.hidden = false;
const cases = [...document.querySelectorAll("details.case")];
for (const button of document.querySelectorAll("button[data-fold]")) {
  button.addEventListener("click", () => cases.forEach((one) => { one.open = button.dataset.fold === "open"; }));
}
for (const input of document.querySelectorAll("input[type=search]")) {
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const one of cases) {
      const shown = one.textContent.toLowerCase().includes(wanted);
      for (const part of document.querySelectorAll(`[data-case="${one.dataset.case}"]`)) part.hidden = !shown;
    }
  });
}
const links = [...document.querySelectorAll("nav a")];
const mark = () => {
  const begun = (link) => document.getElementById(link.hash.slice(1)).getBoundingClientRect().top < innerHeight / 3;
  const current = links.filter(begun).pop() || links[0];
  for (const link of links) {
    if (link === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
};
for (const event of ["scroll", "resize"]) addEventListener(event, mark, { passive: true });
mark();
const reveal = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const fold = target && target.closest("details");
  if (fold) { fold.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", reveal);
reveal();
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach((each) => { each.open = true; });
});
addEventListener("afterprint", () => closed.forEach((each) => { each.open = false; }));
