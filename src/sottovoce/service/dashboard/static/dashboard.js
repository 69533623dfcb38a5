"use strict";
// Pages are complete without this script. It brings parts up to date while somebody looks, and leaves alone what the
// reader does: focus, scroll positions, what is folded open, the order of a table.
(function () {
  var parts = Array.from(document.querySelectorAll("[data-live]"));
  if (!parts.length) return;
  var every = 1000 * (parseFloat(document.body.dataset.every) || 3), longest = 30000;
  var words = document.querySelector(".live-words"), pause = document.querySelector(".pause");
  var lost = document.querySelector(".lost"), news = document.getElementById("news"), dot = document.querySelector(".dot");
  var tags = new Map(), timer = null, failures = 0, paused = false, busy = false, ended = false;

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
  function show(part, html) {
    var fresh = new DOMParser().parseFromString(html, "text/html").body; // scripts in it do not run
    children(part, fresh);
    part.dispatchEvent(new CustomEvent("sottovoce:shown", { bubbles: true }));
  }

  // -- asking
  function fetched(part) {
    var headers = {}, address = part.dataset.live;
    if (tags.has(address)) headers["If-None-Match"] = tags.get(address);
    return fetch(address, { headers: headers, credentials: "same-origin", redirect: "error", cache: "no-store" }).then(function (answer) {
      if (answer.status === 304) return false;
      if (answer.status === 401 || answer.status === 403) { ended = true; throw new Error("ended"); }
      if (!answer.ok) throw new Error("failed");
      return answer.text().then(function (html) {
        if (answer.headers.get("ETag")) tags.set(address, answer.headers.get("ETag"));
        show(part, html);
        return true;
      });
    });
  }
  function follow() { // what rests on a version is fetched when that changes, and not before
    return Promise.all(parts.filter(function (part) { return part.dataset.follows; }).map(function (part) {
      var version = document.getElementById(part.dataset.follows).querySelector("[data-version]").dataset.version;
      if (version === part.dataset.version) return null;
      return fetched(part).then(function () { part.dataset.version = version; });
    }));
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
    Promise.all(parts.filter(function (part) { return !part.dataset.follows; }).map(fetched)).then(follow).then(function () {
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
      lost.textContent = ended ? "Your login has ended, or may no longer read this: log in again to go on."
        : "Connection lost, trying again. What is shown may be out of date.";
      if (ended) {
        var link = document.createElement("a");
        link.href = "/login?next=" + encodeURIComponent(location.pathname);
        link.textContent = "Log in";
        lost.append(" ", link);
      }
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
