"use strict";
const all = (selector, from = document) => [...from.querySelectorAll(selector)];

/* The number that a cell begins with; without one it is text, and comes last among numbers. */
function key(cell) {
  const text = cell.textContent.trim().replace(/,(?=\d{3})/g, "");
  const number = parseFloat(text);
  return Number.isNaN(number) ? text : number;
}

function compare(a, b) {
  const numbers = (typeof a === "number") - (typeof b === "number");
  if (numbers) return -numbers;
  return typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
}

function sort(table, column, downward) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, place) => ({ row, place, key: key(row.cells[column]) }));
  rows.sort((a, b) => {
    /* What has no number stays at the end in both directions. */
    const kinds = typeof a.key !== typeof b.key;
    return (downward && !kinds ? -1 : 1) * compare(a.key, b.key) || a.place - b.place;
  });
  body.append(...rows.map((one) => one.row));
}

for (const table of all("table.sortable")) {
  if (table.tBodies[0].rows.length < 2) continue;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const downward = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", downward ? "descending" : "ascending");
      sort(table, column, downward);
    });
  });
}

/* Where a table goes on below its box, that is said. */
for (const told of all(".down")) {
  const box = told.previousElementSibling;
  told.hidden = box.scrollHeight <= box.clientHeight;
}

/* One representation in all tables: a click on its name marks it everywhere. */
for (const head of all("table.sortable tbody th")) {
  head.addEventListener("click", () => {
    const row = head.parentNode, on = !row.classList.contains("chosen");
    for (const one of all("tr[data-name]")) {
      if (one.dataset.name === row.dataset.name) one.classList.toggle("chosen", on);
    }
  });
}

/* Where the pointer is in a map: its row and its column stand out, and are told below. */
for (const table of all("table.heat")) {
  const told = table.closest(".scroll").nextElementSibling.querySelector(".at");
  const columns = [...table.tHead.rows[0].cells];
  const leave = () => { all(".on", table).forEach((one) => one.classList.remove("on")); told.textContent = ""; };
  table.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("tbody td");
    leave();
    if (!cell) return;
    const row = cell.parentNode.cells[0], column = columns[cell.cellIndex];
    [row, column, cell].forEach((one) => one.classList.add("on"));
    told.textContent = `${row.textContent}, ${column.textContent}: ${cell.textContent}`;
  });
  table.addEventListener("pointerleave", leave);
}
