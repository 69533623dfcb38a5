"use strict";
// Everything is readable without this script: it adds a colour switch, read-outs over charts, and sorting.
(function () {
  var root = document.documentElement;
  function kept() { try { return localStorage.getItem("sottovoce-theme"); } catch (_) { return null; } }
  function keep(theme) { try { localStorage.setItem("sottovoce-theme", theme); } catch (_) { /* not from every disk */ } }
  function isDark() {
    var chosen = root.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  var button = document.querySelector("button.theme");
  function label() { button.textContent = isDark() ? "Light colours" : "Dark colours"; }
  if (kept() === "dark" || kept() === "light") root.dataset.theme = kept();
  button.hidden = false;
  label();
  button.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    keep(root.dataset.theme);
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);

  // Read-outs: the points of a line are the corners of its path, its words are kept beside it.
  function corners(path) {
    return path.getAttribute("d").slice(1).split("L").map(function (pair) { return pair.split(" ").map(Number); });
  }
  var alive = new WeakSet();
  function readOut(chart) {
    if (alive.has(chart) || !chart.querySelector(".series")) return;
    alive.add(chart);
    var box = document.createElement("div"), figure = chart.closest("figure");
    box.className = "readout"; box.hidden = true; box.setAttribute("aria-hidden", "true");
    function away() { box.hidden = true; chart.querySelector(".cursor").setAttribute("visibility", "hidden"); }
    chart.addEventListener("pointerleave", away);
    chart.addEventListener("pointermove", function (event) {
      var cursor = chart.querySelector(".cursor"), lines = Array.from(chart.querySelectorAll(".series")).map(function (one) {
        return { name: one.dataset.name, words: one.dataset.words.split("|"), at: one.dataset.at.split("|"),
                 corners: corners(one.querySelector(".line")) };
      });
      if (!lines.length) return;
      if (!box.isConnected) figure.appendChild(box); // a part that was shown anew has lost it
      var frame = chart.getBoundingClientRect(), scale = chart.viewBox.baseVal.width / frame.width;
      var x = (event.clientX - frame.left) * scale, best = null;
      lines.forEach(function (line) {
        line.corners.forEach(function (corner, i) {
          if (!best || Math.abs(corner[0] - x) < Math.abs(best.x - x)) best = { x: corner[0], at: line.at[i] };
        });
      });
      box.textContent = "";
      var title = document.createElement("b");
      title.textContent = chart.dataset.x ? chart.dataset.x + ": " + best.at : best.at;
      box.appendChild(title);
      lines.map(function (line) {
        var i = line.corners.findIndex(function (corner) { return Math.abs(corner[0] - best.x) < 0.6; });
        return i < 0 ? null : { y: line.corners[i][1], text: line.name + "  " + line.words[i] };
      }).filter(Boolean).sort(function (a, b) { return a.y - b.y; }).forEach(function (row) {
        var line = document.createElement("div");
        line.textContent = row.text;
        box.appendChild(line);
      });
      box.hidden = false;
      cursor.setAttribute("x1", best.x); cursor.setAttribute("x2", best.x);
      cursor.setAttribute("y1", 14); cursor.setAttribute("y2", chart.viewBox.baseVal.height - 52);
      cursor.setAttribute("visibility", "visible");
      var outer = figure.getBoundingClientRect(), left = frame.left - outer.left + best.x / scale + 12;
      if (left + box.offsetWidth > outer.width - 4) left -= box.offsetWidth + 24;
      box.style.left = Math.max(4, left) + "px";
      box.style.top = Math.max(0, frame.top - outer.top - 8) + "px";
    });
  }

  // Sorting: by the exact value where a cell has one.
  function value(row, column) {
    var cell = row.children[column], exact = cell.dataset.value;
    if (exact === undefined) return cell.textContent;
    return exact === "inf" ? Infinity : Number(exact);
  }
  function order(a, b) {
    if (typeof a === "number" && typeof b === "number") return (isNaN(a) - isNaN(b)) || a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  }
  function sort(table, column, up) {
    var body = table.tBodies[0], focused = document.activeElement;
    Array.from(body.rows).sort(function (a, b) {
      return (up ? 1 : -1) * order(value(a, column), value(b, column));
    }).forEach(function (row, i) { if (body.rows[i] !== row) body.insertBefore(row, body.rows[i]); });
    if (body.contains(focused) && focused !== document.activeElement) focused.focus({ preventScroll: true }); // it was moved
  }
  function sortable(table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
      var sorted = head.getAttribute("aria-sort");
      if (sorted) sort(table, column, sorted === "ascending"); // it was, before its rows were shown anew
      if (head.querySelector("button")) return;
      var press = document.createElement("button");
      press.type = "button"; press.textContent = head.textContent; press.title = "Sort";
      head.textContent = ""; head.appendChild(press);
      press.addEventListener("click", function () {
        var up = head.getAttribute("aria-sort") !== "ascending";
        Array.from(table.tHead.rows[0].cells).forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(table, column, up);
      });
    });
  }
  // The words "scroll to see the rest" are for tables that do not fit.
  function hints() {
    document.querySelectorAll(".hint").forEach(function (one) {
      var box = one.nextElementSibling;
      one.hidden = box.scrollWidth <= box.clientWidth + 1 && box.scrollHeight <= box.clientHeight + 1;
    });
  }
  function enliven(part) {
    part.querySelectorAll("svg.chart").forEach(readOut);
    part.querySelectorAll("table.sortable").forEach(sortable);
    hints();
  }
  enliven(document);
  document.addEventListener("sottovoce:shown", function (event) { enliven(event.target); });  // parts that came later
  addEventListener("resize", hints);
  addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  });
})();
