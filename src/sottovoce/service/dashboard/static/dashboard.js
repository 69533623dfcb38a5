"use strict";
// Pages are complete without this script. It loads a page again while somebody looks, and shows what has changed: it
// leaves alone what the reader does: focus, scroll positions, what is folded open, the order of a table.
(function () {
  var parts = Array.from(document.querySelectorAll("[data-live]"));
  if (!parts.length) return;
  var every = 3000, longest = 30000;
  var words = document.querySelector(".live-words"), pause = document.querySelector(".pause");
  var lost = document.querySelector(".lost"), news = document.getElementById("news"), dot = document.querySelector(".dot");
  var tag = null, timer = null, failures = 0, paused = false, busy = false, ended = false;

  // -- from the old part to the new one, changing only what differs
  function alike(a, b) {
    return a.nodeType === b.nodeType && a.nodeName === b.nodeName &&
      (a.nodeType !== 1 || a.id === b.id);
  }
  function attributes(old, fresh) {
    Array.from(old.attributes).forEach(function (one) {
      var kept = old.nodeName === "DETAILS" && one.name === "open" || one.name === "hidden" && old.matches(".hint");
      if (!fresh.hasAttribute(one.name) && !kept) old.removeAttribute(one.name);
    });
    Array.from(fresh.attributes).forEach(function (one) {
      if (old.nodeName === "DETAILS" && one.name === "open") return;
      if (old.getAttribute(one.name) !== one.value) old.setAttribute(one.name, one.value);
    });
  }
  function become(old, fresh) {
    if (old.nodeType !== 1) { if (old.data !== fresh.data) old.data = fresh.data; return; }
    if (old.hasAttribute("data-static")) return;
    attributes(old, fresh);
    children(old, fresh);
  }
  function children(old, fresh) {
    if (fresh.firstElementChild && fresh.firstElementChild.dataset.key !== undefined) return rows(old, fresh);
    var at = old.firstChild;
    Array.from(fresh.childNodes).forEach(function (one) {
      if (at && alike(at, one)) {
        become(at, one);
        at = at.nextSibling;
      } else {
        old.insertBefore(one, at);
      }
    });
    while (at) { var next = at.nextSibling; at.remove(); at = next; }
  }
  function rows(old, fresh) { // rows have names: each stays where the reader has sorted it to
    var known = new Map(), named = new Set();
    Array.from(old.children).forEach(function (one) { known.set(one.dataset.key, one); });
    Array.from(fresh.children).forEach(function (one) {
      var next = one.nextElementSibling, match = known.get(one.dataset.key);
      named.add(one.dataset.key);
      if (match) become(match, one); else old.insertBefore(one, next && known.get(next.dataset.key) || null);
    });
    known.forEach(function (one, name) { if (!named.has(name)) one.remove(); });
  }
  function show(html) {
    var fresh = new DOMParser().parseFromString(html, "text/html"); // scripts in it do not run
    parts.forEach(function (part) {
      children(part, fresh.getElementById(part.id));
      part.dispatchEvent(new CustomEvent("sottovoce:shown", { bubbles: true }));
    });
  }

  // -- asking
  function fetched() {
    var how = { headers: tag ? { "If-None-Match": tag } : {}, credentials: "same-origin", redirect: "error", cache: "no-store" };
    return fetch(location.origin + location.pathname, how).then(function (answer) {
      if (answer.status === 304) return null;
      if (answer.status === 401 || answer.status === 403) { ended = true; throw new Error("ended"); }
      if (!answer.ok) throw new Error("failed");
      tag = answer.headers.get("ETag");
      return answer.text().then(show);
    });
  }
  function tell() {
    var said = document.querySelector("[data-news]");
    if (said && news.dataset.last !== undefined && news.dataset.last !== said.dataset.news) news.textContent = said.dataset.news;
    if (said) news.dataset.last = said.dataset.news;
  }
  function look() {
    clearTimeout(timer);
    if (busy || paused || ended || document.hidden) return;
    busy = true;
    fetched().then(function () {
      if (failures) news.textContent = "Connected again.";
      failures = 0;
      lost.hidden = true;
      if (!paused) { // meanwhile
        dot.classList.remove("off");
        words.textContent = "Live, as of " + new Date().toLocaleTimeString();
      }
      tell();
    }).catch(function () {
      failures += 1;
      dot.classList.add("off");
      words.textContent = "Not up to date";
      lost.textContent = ended ? "Your key has ended, or may no longer read this: load the page again."
        : "Connection lost, trying again. What is shown may be out of date.";
      lost.hidden = false;
    }).then(function () {
      busy = false;
      if (!ended && !paused && !document.hidden) timer = setTimeout(look, Math.min(longest, every * Math.pow(2, Math.min(failures, 5))));
    });
  }
  pause.hidden = false;
  pause.addEventListener("click", function () {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    dot.classList.toggle("off", paused);
    if (paused) { clearTimeout(timer); words.textContent = "Paused"; } else look();
  });
  document.addEventListener("visibilitychange", function () { if (document.hidden) clearTimeout(timer); else look(); });
  addEventListener("online", look);
  tell();
  timer = setTimeout(look, every);
})();
