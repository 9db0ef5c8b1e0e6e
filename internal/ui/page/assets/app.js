// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// What the page does beside what its HTML does by itself: it tells its time zone, hears of changes, and moves with the
// keyboard. Without it everything works but live updates.
"use strict";

// Times are shown in the viewer's zone. The first page after this is known is read again.
(function zone() {
  const known = document.cookie.split("; ").some((c) => c.startsWith("carillon-zone="));
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (known || !name) return;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = "carillon-zone=" + encodeURIComponent(name) + "; Path=/; Max-Age=31536000; SameSite=Strict" + secure;
  if (document.cookie.includes("carillon-zone=") && !document.querySelector("form[method=post]")) location.reload();
})();

// A page that says data-live hears of changes by server-sent events. One that nobody looks at does not listen, and reads
// itself again when somebody does. Where a part of it has data-tells, the stream of that part tells of changes, too, by
// the event "heard"; "listen" says that this begins or ends.
(function live() {
  let source = null;
  let lost = false;
  const line = document.getElementById("connection");

  function tell(text) {
    if (!line) return;
    line.textContent = text;
    line.classList.toggle("hidden", text === "");
  }

  // Whoever is typing or has chosen text is not disturbed.
  function busy() {
    const at = document.activeElement;
    const typing = at && at.closest && at.closest("main") && at.matches("input, textarea, select");
    const chosen = window.getSelection && String(window.getSelection()).length > 0;
    return typing || chosen || document.querySelector("dialog[open]");
  }

  function changed() {
    if (!busy()) document.body.dispatchEvent(new CustomEvent("changed"));
  }

  function close() {
    if (source) source.close();
    source = null;
  }

  function listen() {
    const part = document.querySelector("[data-live]");
    if (document.querySelector("[data-tells]")) {
      close();
      return;
    }
    if (!part || document.hidden || source) return;
    source = new EventSource(part.dataset.live);
    source.addEventListener("open", () => {
      tell("");
      if (lost) changed(); // what happened meanwhile was not told
      lost = false;
    });
    source.addEventListener("changed", changed);
    source.addEventListener("error", () => {
      lost = true;
      tell("· not live: Carillon does not answer");
      if (source && source.readyState === EventSource.CLOSED) { // it answers, and refuses
        tell("· not live: load the page again");
        source = null;
        setTimeout(listen, 5000);
      }
    });
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
    } else {
      changed();
      listen();
    }
  });
  document.addEventListener("heard", changed);
  document.addEventListener("listen", listen);
  document.addEventListener("DOMContentLoaded", listen);
  if (document.readyState !== "loading") listen();
})();

// Keys: "/" goes to the search, "g" and a letter to a section.
(function keys() {
  const sections = { n: "/", t: "/timeline", f: "/fleet", s: "/schedules", x: "/simulate" };
  let g = 0;
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select, dialog")) return;
    if (e.key === "/") {
      e.preventDefault();
      document.getElementById("find").focus();
    } else if (e.key === "g") {
      g = e.timeStamp;
    } else if (sections[e.key] && e.timeStamp - g < 1500) {
      location.assign(sections[e.key]);
    }
  });
})();
